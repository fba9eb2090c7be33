/** @slow */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { run, runNode, TOOLS_MS } from '../support/run.js';
import { acme } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';

const CLIENT = resolve('clients/typescript');

type Answer = { data?: unknown; error?: unknown; response: Response };
/** As the generated types are not there before the build. */
type Send = (path: string, request?: object) => Promise<Answer>;

const app = useTestApp();
let folder: string;
beforeAll(() => {
  const { status, stdout, stderr } = runNode(['scripts/client.js']);
  if (status !== 0) throw new Error(stdout + stderr);
  // In the repository, so that what is compiled there finds the packages; git ignores the folder.
  mkdirSync('data', { recursive: true });
  folder = mkdtempSync(resolve('data', 'typed-client-'));
}, TOOLS_MS);
afterAll(() => rmSync(folder, { recursive: true }));

/** What the compiler says of a program that uses the package. */
function compile(program: string): string {
  const compilerOptions = {
    ...{ noEmit: true, strict: true, skipLibCheck: true },
    ...{ target: 'ES2023', module: 'nodenext', types: ['node'] },
    paths: { 'posts-and-todos-client': [join(CLIENT, 'dist/index.d.ts')] },
  };
  const files = {
    'program.ts': program,
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['program.ts'] }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { stdout, stderr } = runNode(['node_modules/typescript/bin/tsc', '--project', folder]);
  return stdout + stderr;
}

it(
  'the typed client has an example that compiles, and would not with a misspelt field or a parameter of another type',
  () => {
    const readme = readFileSync(join(CLIENT, 'README.md'), 'utf8');
    const [, example = ''] = /```ts\n(.*?)```/s.exec(readme) ?? [];
    expect(compile(example)).toBe('');
    const another = example.replace('limit: 20', "limit: 'all'");
    const wrong = another.replace("{ title: 'Buy tea' }", '{ titel: 1 }');
    const faults = compile(wrong);
    for (const fault of ["'titel'", "'string' is not assignable"]) expect(faults).toContain(fault);
  },
  TOOLS_MS,
);

it('the typed client calls the service with its token and writes filters as the service reads them', async () => {
  const { createApi } = (await import(pathToFileURL(join(CLIENT, 'dist/index.js')).href)) as {
    createApi: (options: object) => Record<'GET' | 'POST', Send>;
  };
  const api = createApi({ url: app.url, token: () => acme });
  const created = await api.POST('/posts/api', { body: { title: 'Typed', content: 'By the client' } });
  expect(created.response.status).toBe(201);
  for (const title of ['Buy tea', 'Buy milk']) await api.POST('/todos', { body: { title } });
  const query = { limit: 20, title: { contains: 'tea' }, fields: ['title'] };
  const page = await api.GET('/todos', { params: { query } });
  expect(page.data).toMatchObject({ count: 1, results: [{ title: 'Buy tea' }] });
  const missing = await api.GET('/todos/{id}', { params: { path: { id: '665f1c2ab7e3a90d4c8b0009' } } });
  expect(missing.error).toMatchObject({ status: 404, code: 'RECORD_NOT_FOUND' });
});

it('the typed client is packed with its code and types, and nothing else', () => {
  const { stdout } = run('npm', ['pack', '--dry-run', '--json'], { cwd: CLIENT });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const code = ['api.d.ts', 'api.js', 'index.d.ts', 'index.js'].map((name) => `dist/${name}`);
  expect(files.map(({ path }) => path).sort()).toEqual(['README.md', ...code, 'package.json']);
});
