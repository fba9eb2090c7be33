import { existsSync, readFileSync } from 'node:fs';

/** Prints how many tests passed and failed; a file that did not run, and a run that ended badly, count as failed. */
const [path, status] = process.argv.slice(2);
const results = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
const passed = results?.numPassedTests ?? 0;
const failed = (results?.numFailedTests ?? 0) + (results?.numRuntimeErrorTestSuites ?? 0);
console.log(passed, failed === 0 && status !== '0' ? 1 : failed);
