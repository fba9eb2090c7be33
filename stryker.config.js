/**
 * Changes the source here and there, and runs the tests that should notice: `npm run mutants --prefix tools`,
 * or one room with `ROOM=query` before it. It takes an hour a room, so that it is for nights.
 */
const ROOMS = {
  tenancy: {
    mutate: ['src/common/tenancy/*.ts'],
    tests: [
      'test/tenancy/(tokens|token-scopes|typed-claims|isolation-sources|scopes-fail-closed|key-sets)',
      'test/tenancy/who-may-do-what',
    ],
  },
  isolation: {
    mutate: ['src/common/crud/service/{access,readable-records,references}.ts'],
    tests: [
      'test/tenancy/(scopes-fail-closed|list-isolation|isolation-sources)',
      'test/crud/service/(guarded|hidden-drafts|parents|references|shown|unique)',
    ],
  },
  query: {
    mutate: ['src/common/crud/query/*.ts'],
    tests: [
      'test/crud/query/(cursor|expand|filter-properties|hostile|page-param|query-body|query-string|referred)',
      'test/crud/(platform/own-routes|routes/own-chains)',
      'test/posts/archive',
    ],
  },
  outbox: {
    mutate: ['src/common/crud/store/outbox.ts', 'src/common/notifications/log/event-recorder.ts'],
    tests: ['test/notifications/log/(deletions|event-recording|outbox)', 'test/posts/events'],
  },
};

const wanted = Object.entries(ROOMS).filter(([name]) => [undefined, name].includes(process.env.ROOM));
if (wanted.length === 0) throw new Error(`ROOM must be one of ${Object.keys(ROOMS).join(', ')}.`);
const tests = wanted.flatMap(([, room]) => room.tests);

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: [...wanted.flatMap(([, room]) => room.mutate), '!src/**/index.ts'],
  testRunner: 'command',
  commandRunner: { command: `npx jest --runInBand --bail ${tests.map((path) => `'${path}'`).join(' ')}` },
  // The texts of errors and documents are for people to judge.
  mutator: { excludedMutations: ['StringLiteral'] },
  concurrency: 2,
  timeoutMS: 20_000,
  reporters: ['clear-text', 'json'],
  jsonReporter: { fileName: 'coverage/mutants.json' },
  tempDirName: 'coverage/stryker',
  disableTypeChecks: false,
  ignorePatterns: ['data', 'dist', 'tools', 'clients', 'deploy'],
};
