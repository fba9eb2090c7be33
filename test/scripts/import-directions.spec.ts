import { ESLint } from 'eslint';

const eslint = new ESLint();

/** The faults of a file that has one import, without those that have to do with something else. */
async function faultsOf(file: string, statement: string): Promise<string[]> {
  const [result] = await eslint.lintText(`${statement}\n`, { filePath: file });
  return (result?.messages ?? [])
    .filter(({ ruleId, fatal }) => fatal || ruleId === 'service/import-directions')
    .map(({ message }) => message);
}

const oneWay = (from: string, to: string) =>
  `${from} may not import ${to}: imports point one way, see docs/architecture.md.`;
const apart = (from: string, to: string) =>
  `${from} may not import ${to}: features do not import each other. Put resources that refer to each other into one folder, see docs/adding-a-resource.md.`;
const door = (to: string) => `Import ${to} by its index.js.`;
const EXAMPLE =
  'An example may import src/common/<room>/index.js, src/app.setup.js and the index.js of another example, and nothing else.';

describe('a forbidden import', () => {
  it.each([
    ['of another feature', 'src/todos/x.ts', '../posts/posts.module.js', apart('todos', 'posts')],
    [
      'of another feature, from a folder in one',
      'src/todos/dto/x.ts',
      '../../posts/index.js',
      apart('todos', 'posts'),
    ],
    [
      'of the notifications by the generator',
      'src/common/crud/x.ts',
      '../notifications/index.js',
      oneWay('common/crud', 'common/notifications'),
    ],
    ['of a feature that is new', 'src/posts/x.ts', '../baskets/index.js', apart('posts', 'baskets')],
    [
      'of the route of the figures by a feature',
      'src/posts/x.ts',
      '../metrics/x.js',
      apart('posts', 'metrics'),
    ],
    ['of the settings by a feature', 'src/posts/x.ts', '../config/index.js', oneWay('posts', 'config')],
    ['of the application by a feature', 'src/posts/x.ts', '../app.setup.js', oneWay('posts', 'app')],
    ['of main.ts by the application', 'src/app.setup.ts', './main.js', oneWay('app', 'main')],
    [
      'of a feature by the generator',
      'src/common/crud/http/x.ts',
      '../../../todos/x.js',
      oneWay('common/crud', 'todos'),
    ],
    [
      'of the settings by a shared room',
      'src/common/http/x.ts',
      '../../config/index.js',
      oneWay('common/http', 'config'),
    ],
    [
      'of the generator by the tenancy',
      'src/common/tenancy/x.ts',
      '../crud/index.js',
      oneWay('common/tenancy', 'common/crud'),
    ],
    [
      'of the events by the tenancy',
      'src/common/tenancy/x.ts',
      '../events/index.js',
      oneWay('common/tenancy', 'common/events'),
    ],
    [
      'of the fields by the database',
      'src/common/database/x.ts',
      '../fields/index.js',
      oneWay('common/database', 'common/fields'),
    ],
    [
      'of the server by the errors',
      'src/common/errors/x.ts',
      '../http/index.js',
      oneWay('common/errors', 'common/http'),
    ],
    [
      'of the errors by the identifiers',
      'src/common/ids/x.ts',
      '../errors/index.js',
      oneWay('common/ids', 'common/errors'),
    ],
    [
      'past the door of the generator by a feature',
      'src/posts/x.ts',
      '../common/crud/etag.js',
      door('common/crud'),
    ],
    [
      'past a door, into a folder behind it',
      'src/posts/x.ts',
      '../common/crud/http/index.js',
      door('common/crud'),
    ],
    [
      'past the door of a shared room by another',
      'src/common/crud/store/x.ts',
      '../../errors/problem.js',
      door('common/errors'),
    ],
    ['past the door of the settings', 'src/app.setup.ts', './config/environment.js', door('config')],
    [
      'past a door by what starts a process, unless it has to be early',
      'src/start.ts',
      './common/http/body.js',
      door('common/http'),
    ],
    [
      'of a test',
      'src/posts/x.ts',
      '../../test/support/x.js',
      'src and examples may not import test/support/x.js.',
    ],
    [
      'of an example by a feature',
      'src/posts/x.ts',
      '../../examples/shop/x.js',
      oneWay('posts', 'examples/shop'),
    ],
    ['past the door of another example', 'examples/shop/x.ts', '../users/x.js', EXAMPLE],
    ['of a feature by an example', 'examples/shop/x.ts', '../../src/posts/post.schema.js', EXAMPLE],
    ['past a door by an example', 'examples/shop/x.ts', '../../src/common/crud/etag.js', EXAMPLE],
    ['of the root module by an example', 'examples/shop/x.ts', '../../src/app.module.js', EXAMPLE],
    ['of the settings by an example', 'examples/shop/x.ts', '../../src/config/index.js', EXAMPLE],
    [
      'by a room that has no layer',
      'src/common/queues/x.ts',
      '../errors/index.js',
      'common/queues and common/errors must both have a layer in scripts/lint/import-directions.js.',
    ],
  ])('%s: %s, %s', async (_case, file, path, message) => {
    expect(await faultsOf(file, `import { x } from '${path}';`)).toEqual([message]);
  });

  it.each([
    "import '../posts/x.js';",
    "import type { X } from '../posts/x.js';",
    "export * from '../posts/x.js';",
    "export { x } from '../posts/x.js';",
    "await import('../posts/x.js');",
    "type X = import('../posts/x.js').X;",
  ])('in every form: %s', async (statement) => {
    expect(await faultsOf('src/todos/x.ts', statement)).toEqual([apart('todos', 'posts')]);
  });
});

describe('a permitted import', () => {
  it.each([
    ['in a feature', 'src/todos/x.ts', './todo.schema.js'],
    ['in a feature, from a folder in it', 'src/todos/dto/x.ts', '../todo.schema.js'],
    ['in a shared room', 'src/common/crud/http/x.ts', '../store/x.js'],
    ['of the generator by a feature', 'src/posts/x.ts', '../common/crud/index.js'],
    ['of the database by a feature', 'src/posts/x.ts', '../common/database/index.js'],
    ['of the tenancy by the generator', 'src/common/crud/x.ts', '../tenancy/index.js'],
    ['of the fields by the generator', 'src/common/crud/http/x.ts', '../../fields/index.js'],
    ['of the server by the tenancy', 'src/common/tenancy/x.ts', '../http/index.js'],
    ['of the errors by the server', 'src/common/http/x.ts', '../errors/index.js'],
    ['of the identifiers by the errors', 'src/common/errors/x.ts', '../ids/index.js'],
    ['of a feature by the application', 'src/app.module.ts', './posts/posts.module.js'],
    ['of the settings by the application', 'src/app.module.ts', './config/index.js'],
    ['of the application by main.ts', 'src/main.ts', './app.setup.js'],
    [
      'of what has to be early by what starts a process',
      'src/start.ts',
      './common/database/database-server.js',
    ],
    ['of the settings, early, by what starts a process', 'src/start.ts', './config/environment.js'],
    ['of the settings by a command', 'src/token.ts', './config/index.js'],
    ['of the generator by an example', 'examples/shop/x.ts', '../../src/common/crud/index.js'],
    ['of the setup by an example', 'examples/shop/x.ts', '../../src/app.setup.js'],
    ['of another example by its index', 'examples/shop/x.ts', '../users/index.js'],
    ['in an example', 'examples/shop/dto/x.ts', '../product.schema.js'],
    ['of an example by what starts them', 'examples/main.ts', './shop/shop.module.js'],
    ['of the settings by what starts the examples', 'examples/main.ts', '../src/config/index.js'],
    ['of anything by a test', 'test/x.ts', '../src/common/crud/etag.js'],
    ['of a package', 'src/posts/x.ts', '@nestjs/common'],
  ])('%s: %s, %s', async (_case, file, path) => {
    expect(await faultsOf(file, `import { x } from '${path}';`)).toEqual([]);
  });
});

it('two files of a room may not import each other', async () => {
  const [result] = await eslint.lintText("export * from './posts.module.js';\n", {
    filePath: 'src/posts/posts.crud.ts',
  });
  expect(result?.messages.map(({ ruleId }) => ruleId)).toEqual(['import-x/no-cycle']);
});
