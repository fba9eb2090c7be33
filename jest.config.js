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
  // More than two cores: they wait for processes, databases and time limits now and then, and slow ones most of the time.
  maxWorkers: process.env.TESTS === 'slow' ? 4 : 3,
};
