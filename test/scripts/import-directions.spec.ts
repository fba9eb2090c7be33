/** @slow */
import { ESLint } from 'eslint';

const eslint = new ESLint();

/** What the linter says of a file that has one import. */
async function faultsOf(filePath: string, path: string): Promise<(string | null)[]> {
  const [result] = await eslint.lintText(`export * from '${path}';\n`, { filePath });
  return (result?.messages ?? []).map(({ ruleId, message }) => `${ruleId}: ${message.split('zone. ')[1]}`);
}

const ONE_WAY = 'Imports point one way';
const FEATURES = 'Features do not import each other';
const DOOR = 'by its index.js';
const EXAMPLE = 'An example imports';

// That what is permitted passes, `npm run check` shows by every file.
it.each([
  ['src/todos/x.ts', '../posts/posts.module.js', FEATURES],
  ['src/metrics/x.ts', '../posts/posts.module.js', FEATURES],
  ['src/posts/x.ts', '../config/index.js', ONE_WAY],
  ['src/posts/x.ts', '../app.setup.js', ONE_WAY],
  ['src/posts/x.ts', '../../examples/orders/index.js', ONE_WAY],
  ['src/posts/x.ts', '../../test/support/eventually.js', ONE_WAY],
  ['src/app.setup.ts', './start.js', ONE_WAY],
  ['src/common/crud/pipeline/x.ts', '../../../todos/todos.module.js', ONE_WAY],
  ['src/common/crud/x.ts', '../notifications/index.js', ONE_WAY],
  ['src/common/errors/x.ts', '../metrics/index.js', ONE_WAY],
  ['src/posts/x.ts', '../common/crud/pipeline/respond.js', DOOR],
  ['src/common/crud/store/x.ts', '../../errors/problems.js', DOOR],
  ['src/app.setup.ts', './config/environment.js', DOOR],
  ['examples/orders/x.ts', '../users/users.module.js', EXAMPLE],
  ['examples/orders/x.ts', '../../src/config/index.js', EXAMPLE],
  ['examples/orders/x.ts', '../../src/app.module.js', EXAMPLE],
])('in %s, an import of %s is rejected', async (file, path, message) => {
  const fault = expect.stringMatching(`import-x/no-restricted-paths: .*${message}`) as string;
  expect(await faultsOf(file, path)).toEqual([fault]);
});

it('two files of a room may not import each other', async () => {
  const [fault] = await faultsOf('src/posts/posts.crud.ts', './posts.module.js');
  expect(fault).toMatch(/^import-x\/no-cycle/);
});
