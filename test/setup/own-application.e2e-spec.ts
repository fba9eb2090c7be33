/** @slow */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { freshDatabaseUri } from '../support/mongodb.js';
import { run as runToEnd, TOOLS_MS } from '../support/run.js';
import { ServiceProcess } from '../support/service-process.js';
import { ACME, GLOBEX, TEST_SECRET, tokenOf } from '../support/tenants.js';
import { parsedBody } from '../support/send-to.js';

const GUIDE = readFileSync('docs/in-your-own-application.md', 'utf8');

/** The settings of an application, as `@nestjs/config` declares them. */
const CONFIG = `
declare class ConfigModule {}
declare class ConfigService {
  getOrThrow<T>(name: string): T;
}
`;

/** What the template itself needs to compile, besides what the package brings along. */
const TOOLS = ['@nestjs/cli', '@nestjs/schematics', '@types/jest', '@types/node', 'typescript'];

/** Own classes, whose declarations the template's compiler writes: every type in them must have a name outside the package. */
const OWN_CLASSES = `
import { Body, Injectable, Module, Param } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import {
  CrudAction, CrudController, CrudModule, crudOptions, CrudService, CurrentScope, currentTenant, type EntityEvent,
  IdPipe, IsFlag, IsIdentifier, IsText, OnEntityEvent, TenantScope, ValidationError,
} from 'nestjs-mongo-crud';

export class ListInput {
  @IsText({ max: 100 }) name!: string;
  @IsFlag({ default: false }) closed!: boolean;
}
@Schema({ timestamps: true })
export class List extends ListInput {
  @IsIdentifier() tenant!: string;
}
export class Closing {
  @IsText({ max: 100 }) reason!: string;
}
export const lists = crudOptions({
  entity: List,
  input: ListInput,
  name: 'lists',
  tag: 'Lists',
  isolationFields: { all: { tenant: currentTenant } },
  hooks: {
    beforeCreate: ({ input }) => {
      if (input.name === 'NONE') throw new ValidationError([{ pointer: '/name', detail: 'is taken' }]);
    },
  },
});
@Injectable()
export class ListsService extends CrudService.for(lists) {
  override create(...[scope, input, options]: Parameters<CrudService<List, ListInput>['create']>) {
    return super.create(scope, { ...input, name: input.name.toUpperCase() }, options);
  }
}
export class ListsController extends CrudController(lists) {
  @CrudAction(lists, { method: 'POST', path: ':id/close', body: Closing, isolatedAs: 'update', status: 200 })
  async close(@CurrentScope() scope: TenantScope, @Param('id', IdPipe) id: string, @Body() { reason }: Closing) {
    await this.service.update(scope, id, { closed: true });
    return { closed: true, reason };
  }
}
@Injectable()
export class ListsListener {
  @OnEntityEvent('lists', 'afterCreate')
  created(event: EntityEvent<List>) {
    console.log('heard ' + event.record.name);
  }
}
@Module({
  imports: [CrudModule.forFeature(lists, { controller: ListsController, service: ListsService })],
  providers: [ListsListener],
})
export class ListsModule {}
`;

/** A test of the application's own, by the helpers of the package. */
const OWN_TEST = `
import { scopeOf } from 'nestjs-mongo-crud';
import { createCrudTestingModule, describeCrudContract } from 'nestjs-mongo-crud/testing';
import { lists, ListsService } from './lists/lists.module.js';

const { service, close } = await createCrudTestingModule(lists, { service: ListsService });
const { name } = await service.create(scopeOf({ tenant: '${ACME}' }), { name: 'food', closed: false });
console.log(name, typeof describeCrudContract);
await close();
`;

/** A template of the Nest CLI. */
type Template = 'esm' | 'cjs';

const folders = {} as Record<Template, string>;
const packages = mkdtempSync(join(tmpdir(), 'packages-'));
beforeAll(() => {
  const packed = run('.', 'scripts/pack.js', '--out', join(packages, 'new'));
  const [generator = '', embedded = ''] = packed.trim().split('\n');
  for (const type of ['esm', 'cjs'] as const) {
    const folder = (folders[type] = newApplication(type));
    install(folder, generator);
    for (const [, path = '', code = ''] of GUIDE.matchAll(/```ts (\S+)\n(.*?)```/gs))
      write(folder, path, code);
    write(folder, 'src/lists/lists.module.ts', OWN_CLASSES);
    const appModule = readFileSync(join(folder, 'src/app.module.ts'), 'utf8')
      .replace('    NotesModule,', '    NotesModule, ListsModule,')
      .replace(/^/, "import { ListsModule } from './lists/lists.module.js';\n");
    write(folder, 'src/app.module.ts', appModule);
    // The module with injected settings, for the compiler.
    const [root] = /CrudModule\.forRootAsync\([^]*?\n}\)/.exec(GUIDE) ?? [];
    const asyncRoot = `import { CrudModule } from 'nestjs-mongo-crud';${CONFIG}export const root = ${root};`;
    write(folder, 'src/async-root.ts', asyncRoot);
    if (type === 'esm') {
      install(folder, embedded);
      link(folder, '@nestjs/testing');
      write(folder, 'src/own-test.ts', OWN_TEST);
    }
    // The test runner of the template of ES modules is not installed here: its types alone are left out.
    const types = type === 'esm' ? ['--types', 'node'] : [];
    run(folder, 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', ...types);
  }
}, TOOLS_MS);
afterAll(() => {
  for (const folder of [packages, ...Object.values(folders)]) rmSync(folder, { recursive: true });
});

/** Runs a script of Node and gives its output; throws it if the script fails. */
function run(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr } = runToEnd(process.execPath, args, { cwd });
  if (status !== 0) throw new Error(`${args.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

/** Makes a new application from a template of the Nest CLI, as `nest new` does, with only its tools installed. */
function newApplication(type: Template): string {
  const folder = mkdtempSync(join(tmpdir(), `own-${type}-`));
  // The program that `nest new` runs, which would ask for the module system in a terminal.
  const cli = createRequire(resolve('node_modules/@nestjs/cli/package.json'));
  const schematics = cli.resolve('@angular-devkit/schematics-cli/bin/schematics.js');
  const options = ['--name=shop', '--directory=.', `--type=${type}`, '--language=ts', '--strict'];
  run(folder, schematics, '@nestjs/schematics:application', ...options);
  for (const name of TOOLS) link(folder, name);
  return folder;
}

/** Installs a packed package as npm would, without a registry: with links to what it declares, and to nothing else. */
function install(folder: string, path: string): void {
  const target = join(folder, 'node_modules', /([a-z-]+)-\d[^/]*\.tgz$/.exec(path)?.[1] ?? '');
  mkdirSync(target, { recursive: true });
  expect(runToEnd('tar', ['-xzf', resolve(path), '--strip-components=1'], { cwd: target }).status).toBe(0);
  const manifest = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8')) as {
    dependencies: object;
    peerDependencies?: object;
    peerDependenciesMeta?: Record<string, { optional?: boolean }>;
  };
  const { dependencies, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const peers = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional);
  for (const needed of [...Object.keys(dependencies), ...peers]) link(folder, needed);
}

function link(folder: string, name: string): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(resolve('node_modules', name), target);
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** Starts the application with variables. */
const start = (folder: string, env: Record<string, string | undefined>) =>
  ServiceProcess.spawn({ PORT: '0', ...env }, [join(folder, 'dist/main.js')], undefined, folder);

describe.each<[Template, string]>([
  ['esm', 'the embedded database'],
  ['cjs', 'a MongoDB, without the package of the embedded database'],
])('a new Nest application (%s) with the package, on %s', (type) => {
  let url: string;
  let started: ServiceProcess;
  beforeAll(async () => {
    const database = type === 'cjs' && { MONGODB_URI: freshDatabaseUri() };
    started = start(folders[type], { JWT_SECRET: TEST_SECRET, ...database });
    url = await started.says(/Server listening at (http:[^\s"]+)/);
  }, TOOLS_MS);
  afterAll(async () => {
    started.signal('SIGTERM');
    await started.ended();
  });

  async function send(method: string, path: string, tenant?: string, body?: object) {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(body && { 'Content-Type': 'application/json' }),
        ...(tenant && { Authorization: `Bearer ${tokenOf(tenant)}` }),
      },
      body: body && JSON.stringify(body),
    });
    const answer = parsedBody(response.headers.get('content-type'), await response.text());
    return { status: response.status, body: answer };
  }
  const created = async (path: string, fields: object) => {
    const { status, body } = await send('POST', path, ACME, fields);
    expect(status).toBe(201);
    return `${path}/${(body as { _id: string })._id}`;
  };

  it('creates and reads for one tenant alone, requires a token, and names a misspelt field', async () => {
    const path = await created('/notes', { text: 'Buy stamps' });
    const moments = { createdAt: expect.any(String), updatedAt: expect.any(String) };
    const note = { _id: path.split('/').at(-1), text: 'Buy stamps', tenant: ACME, ...moments };
    for (const [method, body] of [['GET'], ['PATCH', { text: 'Mine' }], ['DELETE']] as const)
      expect(await send(method, path, GLOBEX, body)).toMatchObject({ status: 404 });
    expect(await send('GET', '/notes/count', GLOBEX)).toEqual({ status: 200, body: { count: 0 } });
    expect(await send('GET', '/notes')).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    expect(await send('GET', path, ACME)).toEqual({ status: 200, body: note });
    const body = { code: 'VALIDATION_FAILED', errors: [{ pointer: '/txt' }] };
    const refused = await send('POST', '/notes', ACME, { text: 'Buy stamps', txt: 1 });
    expect(refused).toMatchObject({ status: 400, body });
  });

  it('documents the resource under the title of the application', async () => {
    const { body } = await send('GET', '/docs/openapi.json');
    const { info, paths } = body as { info: object; paths: object };
    expect(info).toEqual({ title: 'Shop', description: '', version: '1', contact: {} });
    const documented = ['/', '/notes', '/notes/{id}', '/lists/{id}/close'];
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(documented));
    expect(await send('GET', '/docs')).toMatchObject({ status: 200 });
  });

  it('runs its own service, hook, listener and route, and its other controllers', async () => {
    const path = await created('/lists', { name: 'food' });
    expect(await send('POST', `${path}/close`, GLOBEX, { reason: 'eaten' })).toMatchObject({ status: 404 });
    expect(await send('POST', `${path}/close`, ACME, { reason: 'eaten' })).toMatchObject({ status: 200 });
    expect(await send('GET', path, ACME)).toMatchObject({ body: { name: 'FOOD', closed: true } });
    expect(await started.says(/heard (\w+)/)).toBe('FOOD');
    expect(await send('POST', '/lists', ACME, { name: 'none' })).toMatchObject({ status: 400 });
    expect(await send('GET', '/')).toEqual({ status: 200, body: 'Hello World!' });
  });

  // What it answers meanwhile is shown in shutdown.e2e-spec.ts.
  it('answers probes, and on SIGTERM ends with 0', async () => {
    for (const probe of ['live', 'ready'])
      expect(await send('GET', `/health/${probe}`)).toEqual({ status: 200, body: { status: 'ok' } });
    started.signal('SIGTERM');
    expect(await started.ended()).toMatchObject({ code: 0 });
  });
});

describe('the package', () => {
  it('has the code and the types that its doors reach, and nothing of the service', () => {
    const folder = join(folders.cjs, 'node_modules/nestjs-mongo-crud');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const outside = files.filter((file) => !/^dist(?:$|\/common(?:$|\/[a-z]+))/.test(file)).sort();
    expect(outside).toEqual(['LICENSE', 'README.md', 'dist/index.d.ts', 'dist/index.js', 'package.json']);
    const code = files.filter((file) => file.endsWith('.js')).map((file) => file.replace(/\.js$/, '.d.ts'));
    expect(files.filter((file) => file.endsWith('.d.ts')).sort()).toEqual(code.sort());
  });

  it('has helpers for tests', () => {
    expect(run(folders.esm, 'dist/own-test.js')).toMatch(/^FOOD function$/m);
  });
});

it.each([
  'The embedded database is not installed. Install the package nestjs-mongo-crud-embedded, or name a MongoDB by its URI.',
  'CrudModule.forRoot: database.uri must be a mongodb:// or mongodb+srv:// URI that names a database, such as mongodb://127.0.0.1:27017/shop.',
])('an application that cannot run says why: %s', async (sentence) => {
  const MONGODB_URI = sentence.includes('database.uri') ? 'mongodb://127.0.0.1:27017' : undefined;
  const { code, stdout, stderr } = await start(folders.cjs, { MONGODB_URI }).ended();
  expect(code).not.toBe(0);
  expect(stdout + stderr).toContain(sentence);
});
