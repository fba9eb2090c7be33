/**
 * Changes the source here and there, and runs the tests that should notice: `npm run mutants --prefix tools`,
 * or one room with `ROOM=query` before it, of which `SAMPLE=7` meets each seventh mutant. A room takes half an hour or
 * more on two free cores, so that it is for nights. The quickest files come first.
 */
const ROOMS = {
  tenancy: {
    mutate: ['src/common/tenancy/*.ts'],
    tests: [
      'tenancy/scopes-fail-closed',
      'tenancy/who-may-do-what',
      'tenancy/isolation-sources',
      'tenancy/tenancy',
      'tenancy/tokens',
      'tenancy/token-scopes',
      'tenancy/typed-claims',
      'tenancy/key-sets',
    ],
  },
  isolation: {
    mutate: ['src/common/crud/service/{access,readable-records,references}.ts'],
    tests: [
      'tenancy/scopes-fail-closed',
      'tenancy/isolation-sources',
      'tenancy/list-isolation',
      'crud/service/references',
      'crud/service/guarded-records',
      'crud/service/shown-records',
      'crud/service/unique-values',
      'crud/service/parents',
      'crud/service/hidden-drafts',
    ],
  },
  query: {
    mutate: ['src/common/crud/query/*.ts'],
    tests: [
      'crud/platform/own-routes',
      'crud/routes/own-chains',
      'crud/query/page-parameters',
      'crud/query/hostile-queries',
      'crud/query/query-body',
      'crud/query/expand',
      'crud/query/referred-filters',
      'crud/query/cursor-signatures',
      'crud/query/cursors',
      'crud/query/filter-properties',
    ],
  },
  outbox: {
    mutate: ['src/common/crud/store/outbox.ts', 'src/common/notifications/log/event-recorder.ts'],
    tests: [
      'posts/events',
      'notifications/log/outbox',
      'notifications/log/deletions',
      'notifications/log/event-recording',
    ],
  },
};

const wanted = Object.entries(ROOMS).filter(([name]) => [undefined, name].includes(process.env.ROOM));
if (wanted.length === 0) throw new Error(`ROOM must be one of ${Object.keys(ROOMS).join(', ')}.`);
const paths = new Set(wanted.flatMap(([, room]) => room.tests));
export const tests = [...paths].map((path) => `test/${path}.e2e-spec.js`);

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: [...wanted.flatMap(([, room]) => room.mutate), '!src/**/index.ts'],
  buildCommand:
    'node ../../../node_modules/@swc/cli/bin/swc.js src test examples --out-dir . --quiet -C jsc.transform.useDefineForClassFields=false',
  plugins: ['./stryker.runner.js'],
  testRunner: 'light',
  maxTestRunnerReuse: 50,
  // The texts of errors and documents are for people to judge.
  mutator: { excludedMutations: ['StringLiteral'] },
  concurrency: 2,
  dryRunTimeoutMinutes: 20,
  timeoutMS: 60_000,
  reporters: ['clear-text', 'json', 'progress-append-only'],
  jsonReporter: { fileName: `coverage/mutants-${process.env.ROOM ?? 'all'}.json` },
  tempDirName: 'coverage/stryker',
  disableTypeChecks: false,
  ignorePatterns: ['data', 'dist', 'tools', 'clients', 'deploy'],
};
