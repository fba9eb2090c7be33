/** Reads TypeScript in the processes of the tests, which import modules as Node does. */
const register = import.meta.resolve('./test/support/register.js');
await import(register);
process.env.NODE_OPTIONS = [process.env.NODE_OPTIONS, '--enable-source-maps', `--import=${register}`]
  .join(' ')
  .trim();

/** @type {import('jest').Config} */
export default {
  runner: ['jest-light-runner', { runtime: 'child_process' }],
  roots: ['<rootDir>/src', '<rootDir>/examples', '<rootDir>/test'],
  testRegex: '\\.(spec|e2e-spec)\\.ts$',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  filter: '<rootDir>/test/support/selection.cjs',
  globalSetup: './test/support/global-setup.js',
  globalTeardown: './test/support/global-teardown.js',
  setupFilesAfterEnv: ['./test/support/setup.js'],
  // Some wait for processes and time limits now and then; where there is a MongoDB, it is the third at work.
  maxWorkers: process.env.MONGODB_URI ? 2 : 3,
};
