/** @slow */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { freshDatabaseUri } from '../support/mongodb.js';
import {
  followGuide,
  install,
  link,
  makePackages,
  newApplication,
  run,
  type Template,
  write,
  writeAsyncRoot,
} from '../support/own-application.js';
import { TOOLS_MS } from '../support/run.js';
import { ServiceProcess } from '../support/service-process.js';
import { ACME, GLOBEX, TEST_SECRET, tokenOf } from '../support/tenants.js';

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

const folders = {} as Record<Template, string>;
beforeAll(() => {
  const { generator, embedded } = makePackages();
  for (const type of ['esm', 'cjs'] as const) {
    const folder = (folders[type] = ownApplication(type, generator));
    if (type === 'esm') {
      install(folder, embedded);
      link(folder, '@nestjs/testing');
      write(folder, 'src/own-test.ts', OWN_TEST);
    }
    compile(folder, type);
  }
}, TOOLS_MS);
afterAll(() => {
  for (const folder of Object.values(folders)) rmSync(folder, { recursive: true });
});

/** A new application that follows the guide, and has a resource with classes of its own. */
function ownApplication(type: Template, generator: string): string {
  const folder = newApplication(type);
  install(folder, generator);
  followGuide(folder);
  write(folder, 'src/lists/lists.module.ts', OWN_CLASSES);
  const appModule = readFileSync(join(folder, 'src/app.module.ts'), 'utf8')
    .replace('    NotesModule,', '    NotesModule, ListsModule,')
    .replace(/^/, "import { ListsModule } from './lists/lists.module.js';\n");
  write(folder, 'src/app.module.ts', appModule);
  writeAsyncRoot(folder);
  return folder;
}

function compile(folder: string, type: Template): void {
  // The test runner of the template of ES modules is not installed here: its types alone are left out.
  const types = type === 'esm' ? ['--types', 'node'] : [];
  run(folder, process.execPath, 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', ...types);
}

/** Starts the application with variables. */
const start = (folder: string, env: Record<string, string>) =>
  ServiceProcess.spawn({ PORT: '0', ...env }, [join(folder, 'dist/main.js')], undefined, folder);

describe.each<[Template, string]>([
  ['esm', 'the embedded database'],
  ['cjs', 'a MongoDB, without the package of the embedded database'],
])('a new Nest application (%s) with the package, on %s', (type) => {
  let url: string;
  let started: ServiceProcess;
  beforeAll(async () => {
    const database = type === 'esm' ? {} : { MONGODB_URI: freshDatabaseUri() };
    started = start(folders[type], { JWT_SECRET: TEST_SECRET, ...(database as object) });
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
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return { status: response.status, body: isJson ? (JSON.parse(text) as Record<string, unknown>) : text };
  }
  const created = async (path: string, tenant: string, fields: object) => {
    const { status, body } = await send('POST', path, tenant, fields);
    expect(status).toBe(201);
    return `${path}/${(body as { _id: string })._id}`;
  };

  it('creates and reads', async () => {
    const path = await created('/notes', ACME, { text: 'Buy stamps' });
    const moments = { createdAt: expect.any(String), updatedAt: expect.any(String) };
    const note = { _id: path.split('/').at(-1), text: 'Buy stamps', tenant: ACME, ...moments };
    expect(await send('GET', path, ACME)).toEqual({ status: 200, body: note });
  });

  it('rejects a misspelt field with a problem that names it', async () => {
    const body = { code: 'VALIDATION_FAILED', errors: [{ pointer: '/txt' }] };
    const refused = await send('POST', '/notes', ACME, { text: 'Buy stamps', txt: 1 });
    expect(refused).toMatchObject({ status: 400, body });
  });

  it('keeps two tenants apart, and requires a token', async () => {
    const path = await created('/notes', ACME, { text: 'Of acme' });
    for (const [method, body] of [['GET'], ['PATCH', { text: 'Mine' }], ['DELETE']] as const)
      expect(await send(method, path, GLOBEX, body)).toMatchObject({ status: 404 });
    expect(await send('GET', '/notes/count', GLOBEX)).toEqual({ status: 200, body: { count: 0 } });
    expect(await send('GET', '/notes')).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    expect(await send('GET', path, ACME)).toMatchObject({ body: { text: 'Of acme' } });
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
    const path = await created('/lists', ACME, { name: 'food' });
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
    const files = readdirSync(join(folders.cjs, 'node_modules/nestjs-mongo-crud'), {
      recursive: true,
      encoding: 'utf8',
    });
    const outside = files.filter((file) => !/^dist(?:$|\/common(?:$|\/[a-z]+))/.test(file)).sort();
    expect(outside).toEqual(['LICENSE', 'README.md', 'dist/index.d.ts', 'dist/index.js', 'package.json']);
    const code = files.filter((file) => file.endsWith('.js')).map((file) => file.replace(/\.js$/, '.d.ts'));
    expect(files.filter((file) => file.endsWith('.d.ts')).sort()).toEqual(code.sort());
  });

  it('has helpers for tests', () => {
    expect(run(folders.esm, process.execPath, 'dist/own-test.js')).toMatch(/^FOOD function$/m);
  });
});

it.each<[string, Record<string, string>, string]>([
  [
    'which package is missing',
    {},
    'The embedded database is not installed. Install the package nestjs-mongo-crud-embedded, or name a MongoDB by its URI.',
  ],
  [
    'that the URI is wrong',
    { MONGODB_URI: 'mongodb://127.0.0.1:27017' },
    'CrudModule.forRoot: database.uri must be a mongodb:// or mongodb+srv:// URI that names a database, such as mongodb://127.0.0.1:27017/shop.',
  ],
])('an application that cannot run says %s', async (_what, env, sentence) => {
  const { code, stdout, stderr } = await start(folders.cjs, env).ended();
  expect(code).not.toBe(0);
  expect(stdout + stderr).toContain(sentence);
});
