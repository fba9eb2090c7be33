/**
 * How stryker.config.js runs tests: in one process for many mutants, each file that reaches the mutant until a test
 * fails. Mutants of what modules do when they are loaded get a process of their own.
 */
import { resolve } from 'node:path';
import { startEmbeddedMongodb } from 'nestjs-mongo-crud-embedded';
import { tests } from './stryker.config.js';

const RUNNER = './node_modules/jest-light-runner/src';
/** Every which mutant is met; the report counts the others as errors, which no score has. */
const sample = Number(process.env.SAMPLE ?? 1);
const space = (globalThis.__stryker__ ??= {});
let current;
let failure;
let runFile;

/** Remembers the first failure of a file, and leaves out what follows, except what cleans up. */
function untilFailure(name) {
  const register = globalThis[name];
  const part = (fn) => async () => {
    space.currentTestId = current;
    if (failure === undefined || name.startsWith('after'))
      await fn().catch((error) => (failure ??= String(error)));
  };
  const wrapped = (...args) => register(...args.map((arg) => (typeof arg === 'function' ? part(arg) : arg)));
  globalThis[name] = Object.assign(wrapped, { only: wrapped, skip: register.skip });
}

/** @returns the message of the first failure, if any */
async function failureOf(file) {
  [current, failure] = [file, undefined];
  try {
    await runFile(resolve(file));
  } catch (error) {
    failure ??= String(error);
  }
  space.currentTestId = undefined;
  return failure;
}

const runner = {
  capabilities: () => ({ reloadEnvironment: false }),
  async init() {
    const { uri } = await startEmbeddedMongodb({ memory: true, port: 0 });
    Object.assign(process.env, { MONGODB_URI: uri, TESTS_ARE_EMBEDDED: 'yes' });
    await import(`${RUNNER}/global-setup.js`);
    ['it', 'beforeAll', 'afterAll', 'beforeEach', 'afterEach'].forEach(untilFailure);
    const { default: run, setWorkerData } = await import(`${RUNNER}/worker-runner.js`);
    const projectConfig = { setupFiles: [], snapshotSerializers: [], transform: [] };
    projectConfig.setupFilesAfterEnv = [resolve('test/support/setup.js')];
    setWorkerData({ runtime: 'main_thread', globalConfig: { testNamePattern: null }, projectConfig });
    runFile = run;
  },
  async dryRun() {
    const results = [];
    for (const file of tests) {
      const start = Date.now();
      const failureMessage = await failureOf(file);
      const result = { id: file, name: file, status: failureMessage ? 1 : 0, failureMessage };
      results.push({ ...result, timeSpentMs: Date.now() - start });
    }
    return { status: 'complete', tests: results, mutantCoverage: space.mutantCoverage };
  },
  async mutantRun({ activeMutant, testFilter }) {
    if (Number(activeMutant.id) % sample !== 0)
      return { status: 'error', errorMessage: 'Not in the sample.' };
    space.activeMutant = activeMutant.id;
    const wanted = tests.filter((file) => testFilter?.includes(file) ?? true);
    for (const [index, file] of wanted.entries()) {
      const failureMessage = await failureOf(file);
      if (failureMessage) return { status: 'killed', killedBy: [file], failureMessage, nrOfTests: index + 1 };
    }
    return { status: 'survived', nrOfTests: wanted.length };
  },
};

export const strykerPlugins = [{ kind: 'TestRunner', name: 'light', value: runner }];
