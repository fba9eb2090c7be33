/** Packages that CommonJS code requires though they are ES modules: Node can do that, jest on Node 20 cannot. */
const required = '/node_modules/content-disposition/';

/** @type {import('jest').Config} */
export default {
  roots: ['<rootDir>/src', '<rootDir>/examples', '<rootDir>/test'],
  testEnvironment: 'node',
  testRegex: '\\.(spec|e2e-spec)\\.ts$',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': '@swc/jest',
    [required]: ['@swc/jest', { module: { type: 'commonjs' }, swcrc: false }],
  },
  transformIgnorePatterns: [`/node_modules/(?!${required.split('/')[2]}/)`],
  globalSetup: './test/support/global-setup.js',
  globalTeardown: './test/support/global-teardown.js',
  setupFiles: ['reflect-metadata'],
  // Above what `eventually` waits, so that a test fails with what it found.
  testTimeout: 90_000,
  maxWorkers: 2,
  // Each file leaves its modules behind; with gigabytes of them, collecting garbage takes seconds at a time.
  workerIdleMemoryLimit: '1GB',
};
