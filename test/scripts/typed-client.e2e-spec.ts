/** @slow */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createTestApp, type TestApp } from '../support/test-app.js';
import { ACME, tokenOf } from '../support/tenants.js';

/** Time for the service to start and for the compiler, on a busy machine. Unit: milliseconds. */
const TOOLS_MS = 180_000;
const CLIENT = resolve('clients/typescript');

/** As the generated types are not there before the build. */
type Call = (
  path: string,
  request?: object,
) => Promise<{ data?: unknown; error?: unknown; response: Response }>;

function run(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

let app: TestApp;
let folder: string;
beforeAll(async () => {
  app = await createTestApp();
  const { status, output } = run('scripts/client.js');
  if (status !== 0) throw new Error(output);
  // In the repository, so that what is compiled there finds the packages; git ignores the folder.
  mkdirSync('data', { recursive: true });
  folder = mkdtempSync(resolve('data', 'typed-client-'));
}, TOOLS_MS);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await app.close();
});

/** What the compiler says of a program that uses the package. */
function compile(program: string): string {
  writeFileSync(join(folder, 'program.ts'), program);
  const compilerOptions = {
    noEmit: true,
    strict: true,
    target: 'ES2023',
    module: 'nodenext',
    skipLibCheck: true,
    types: ['node'],
    paths: { 'posts-and-todos-client': [join(CLIENT, 'dist/index.d.ts')] },
  };
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  return run('node_modules/typescript/bin/tsc', '--project', folder).output;
}

function example(): string {
  const [, code = ''] = /```ts\n(.*?)```/s.exec(readFileSync(join(CLIENT, 'README.md'), 'utf8')) ?? [];
  return code;
}

describe('the typed client', () => {
  it(
    'has an example that compiles, and would not with a misspelt field or a parameter of another type',
    () => {
      expect(compile(example())).toBe('');
      const wrong = example()
        .replace('limit: 20', "limit: 'all'")
        .replace("{ title: 'Buy tea' }", '{ titel: 1 }');
      const faults = compile(wrong);
      expect(faults).toContain("'titel'");
      expect(faults).toContain("'string' is not assignable");
    },
    TOOLS_MS,
  );

  it('calls the service with its token and writes filters as the service reads them', async () => {
    const { createApi } = (await import(pathToFileURL(join(CLIENT, 'dist/index.js')).href)) as {
      createApi: (options: object) => Record<'GET' | 'POST', Call>;
    };
    const api = createApi({ url: app.url, token: () => tokenOf(ACME) });
    const created = await api.POST('/posts/api', { body: { title: 'Typed', content: 'By the client' } });
    expect(created.response.status).toBe(201);
    await api.POST('/todos', { body: { title: 'Buy tea' } });
    await api.POST('/todos', { body: { title: 'Buy milk' } });
    const page = await api.GET('/todos', {
      params: { query: { limit: 20, title: { contains: 'tea' }, fields: ['title'] } },
    });
    expect(page.data).toMatchObject({ count: 1, results: [{ title: 'Buy tea' }] });
    const missing = await api.GET('/todos/{id}', { params: { path: { id: '665f1c2ab7e3a90d4c8b0009' } } });
    expect(missing.error).toMatchObject({ status: 404, code: 'RECORD_NOT_FOUND' });
  });

  it('is packed with its code and types, and nothing else', () => {
    const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json'], { cwd: CLIENT, encoding: 'utf8' });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const names = files.map(({ path }) => path).sort();
    expect(names.slice(0, 3)).toEqual(['README.md', 'dist/api.d.ts', 'dist/api.js']);
    expect(names.slice(3)).toEqual(['dist/index.d.ts', 'dist/index.js', 'package.json']);
  });
});
