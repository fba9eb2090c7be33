/**
 * Changes the source here and there, and runs the tests that should notice: `npm run mutants --prefix tools`, which takes
 * hours. `ROOM=query` chooses a room, and `SAMPLE=10` ten percent of its mutants.
 */
const ROOMS = {
  tenancy: {
    mutate: ['src/common/tenancy/*.ts'],
    tests: [
      'test/tenancy/(tokens|typed-claims|isolation-sources|scopes-fail-closed|key-sets)',
      'test/tenancy/who-may-do-what',
    ],
  },
  isolation: {
    mutate: ['src/common/crud/service/{access,readable-records,references}.ts'],
    tests: [
      'test/tenancy/(scopes-fail-closed|list-isolation|isolation-sources|typed-claims|who-may-do-what)',
      'test/crud/service/(guarded|hidden-drafts|parents|reference|shown|unique)',
    ],
  },
  query: {
    mutate: ['src/common/crud/query/*.ts'],
    tests: [
      'test/crud/query/(cursor|filter-properties|hostile|query-body|referred)',
      'test/crud/(platform/own-routes|routes/own-chains)',
      'test/posts/posts',
    ],
  },
  outbox: {
    mutate: ['src/common/crud/store/outbox.ts', 'src/common/notifications/log/event-recorder.ts'],
    tests: ['test/notifications/log/(deletions|event-recording|outbox)', 'test/posts/events'],
  },
};

/** A checker that takes a part of the mutants: to Stryker, all others are ones that do not compile. */
class Sample {
  async init() {}

  async check([{ id }]) {
    // Fibonacci hashing: Knuth, The Art of Computer Programming, section 6.4.
    const share = ((id * 0x9e3779b1) % 2 ** 32) / 2 ** 32;
    const isTaken = share < Number(process.env.SAMPLE ?? 100) / 100;
    return {
      [id]: isTaken ? { status: 'passed' } : { status: 'compileError', reason: 'Not in the sample.' },
    };
  }
}
export const strykerPlugins = [{ kind: 'Checker', name: 'sample', injectableClass: Sample }];

const wanted = Object.entries(ROOMS).filter(([name]) => [undefined, name].includes(process.env.ROOM));
if (wanted.length === 0) throw new Error(`ROOM must be one of ${Object.keys(ROOMS).join(', ')}.`);
const tests = wanted.flatMap(([, room]) => room.tests);

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: [...wanted.flatMap(([, room]) => room.mutate), '!src/**/index.ts'],
  testRunner: 'command',
  plugins: ['@stryker-mutator/*', import.meta.url],
  checkers: ['sample'],
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
