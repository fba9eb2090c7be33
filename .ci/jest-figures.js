import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

/**
 * Prints how many tests passed and failed; a file that did not run, and a run that ended badly, count as failed.
 * Given the results of a second run of the files that failed, these count instead. With `failed` and a number,
 * prints the files that failed, unless there are more.
 */
const [path, status, again] = process.argv.slice(2);

function read(results) {
  return existsSync(results ?? '') ? JSON.parse(readFileSync(results, 'utf8')) : undefined;
}

function failedFiles({ testResults }) {
  return testResults.filter(({ status }) => status === 'failed').map(({ name }) => relative('.', name));
}

function passedIn({ testResults }, files) {
  const suites = testResults.filter(({ name }) => files.includes(relative('.', name)));
  return suites.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'passed'),
  ).length;
}

const first = read(path);
if (status === 'failed') {
  const files = first ? failedFiles(first) : [];
  if (files.length <= Number(again)) console.log(files.join('\n'));
} else {
  const second = read(again);
  const last = second ?? first;
  const passed =
    (first?.numPassedTests ?? 0) + (second ? second.numPassedTests - passedIn(first, failedFiles(first)) : 0);
  const failed = (last?.numFailedTests ?? 0) + (last?.numRuntimeErrorTestSuites ?? 0);
  console.log(passed, failed === 0 && status !== '0' ? 1 : failed);
}
