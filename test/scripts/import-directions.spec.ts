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
    ['src/todos/x.ts', '../posts/posts.module.js', apart('todos', 'posts')],
    ['src/todos/dto/x.ts', '../../posts/index.js', apart('todos', 'posts')],
    ['src/common/crud/x.ts', '../notifications/index.js', oneWay('common/crud', 'common/notifications')],
    ['src/posts/x.ts', '../baskets/index.js', apart('posts', 'baskets')],
    ['src/posts/x.ts', '../metrics/x.js', apart('posts', 'metrics')],
    ['src/posts/x.ts', '../config/index.js', oneWay('posts', 'config')],
    ['src/posts/x.ts', '../app.setup.js', oneWay('posts', 'app')],
    ['src/app.setup.ts', './main.js', oneWay('app', 'main')],
    ['src/common/crud/pipeline/x.ts', '../../../todos/x.js', oneWay('common/crud', 'todos')],
    ['src/common/http/x.ts', '../../config/index.js', oneWay('common/http', 'config')],
    ['src/common/tenancy/x.ts', '../crud/index.js', oneWay('common/tenancy', 'common/crud')],
    ['src/common/tenancy/x.ts', '../events/index.js', oneWay('common/tenancy', 'common/events')],
    ['src/common/database/x.ts', '../fields/index.js', oneWay('common/database', 'common/fields')],
    ['src/common/errors/x.ts', '../http/index.js', oneWay('common/errors', 'common/http')],
    ['src/common/ids/x.ts', '../errors/index.js', oneWay('common/ids', 'common/errors')],
    ['src/posts/x.ts', '../common/crud/etag.js', door('common/crud')],
    ['src/posts/x.ts', '../common/crud/pipeline/index.js', door('common/crud')],
    ['src/common/crud/store/x.ts', '../../errors/problem.js', door('common/errors')],
    ['src/app.setup.ts', './config/environment.js', door('config')],
    ['src/start.ts', './common/http/body.js', door('common/http')],
    ['src/posts/x.ts', '../../test/support/x.js', 'src and examples may not import test/support/x.js.'],
    ['src/posts/x.ts', '../../examples/shop/x.js', oneWay('posts', 'examples/shop')],
    ['examples/shop/x.ts', '../users/x.js', EXAMPLE],
    ['examples/shop/x.ts', '../../src/posts/post.schema.js', EXAMPLE],
    ['examples/shop/x.ts', '../../src/common/crud/etag.js', EXAMPLE],
    ['examples/shop/x.ts', '../../src/app.module.js', EXAMPLE],
    ['examples/shop/x.ts', '../../src/config/index.js', EXAMPLE],
    [
      'src/common/queues/x.ts',
      '../errors/index.js',
      'common/queues and common/errors must both have a layer in scripts/lint/import-directions.js.',
    ],
  ])('in %s of %s', async (file, path, message) => {
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

/** What files may import. */
const PERMITTED: Readonly<Record<string, string[]>> = {
  'src/todos/x.ts': ['./todo.schema.js'],
  'src/todos/dto/x.ts': ['../todo.schema.js'],
  'src/posts/x.ts': ['../common/crud/index.js', '../common/database/index.js', '@nestjs/common'],
  'src/common/crud/x.ts': ['../tenancy/index.js'],
  'src/common/crud/pipeline/x.ts': ['../store/x.js', '../../fields/index.js'],
  'src/common/tenancy/x.ts': ['../http/index.js'],
  'src/common/http/x.ts': ['../errors/index.js'],
  'src/common/errors/x.ts': ['../ids/index.js'],
  'src/app.module.ts': ['./posts/posts.module.js', './config/index.js'],
  'src/main.ts': ['./app.setup.js'],
  'src/start.ts': ['./common/database/database-server.js', './config/environment.js'],
  'src/token.ts': ['./config/index.js'],
  'examples/shop/x.ts': ['../../src/common/crud/index.js', '../../src/app.setup.js', '../users/index.js'],
  'examples/shop/dto/x.ts': ['../product.schema.js'],
  'examples/main.ts': ['./shop/shop.module.js', '../src/config/index.js'],
  'test/x.ts': ['../src/common/crud/etag.js'],
};

it.each(Object.entries(PERMITTED).flatMap(([file, paths]) => paths.map((path) => [file, path] as const)))(
  'a permitted import in %s of %s',
  async (file, path) => {
    expect(await faultsOf(file, `import { x } from '${path}';`)).toEqual([]);
  },
);

it('two files of a room may not import each other', async () => {
  const filePath = 'src/posts/posts.crud.ts';
  const [result] = await eslint.lintText("export * from './posts.module.js';\n", { filePath });
  expect(result?.messages.map(({ ruleId }) => ruleId)).toEqual(['import-x/no-cycle']);
});
