import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { GUARDS } from './guards/index.js';
import { readTable, writeTable } from './guards/table.js';

/**
 * Removes each guard in turn from a copy of the repository and runs its tests, which must fail:
 *
 *     npm run check:guards              every guard
 *     npm run check:guards -- cursor    those with "cursor" in their name or file
 *
 * Prints the first failing test, writes it to docs/guards.md, and exits with 1 if a guard can be removed
 * without any test noticing.
 */
const COPIED = ['public', 'src', 'test', 'examples', 'scripts', 'docs', 'libs', 'README.md'];
const CONFIGURED = ['package.json', 'jest.config.js', '.swcrc', 'tsconfig.json', 'nest-cli.json'];
/**
 * Tests that wait for the effect of a missing guard end by their own limits long before this. Unit:
 * milliseconds.
 */
const TESTS_END_MS = 180_000;

const [wanted = ''] = process.argv.slice(2);
const guards = GUARDS.filter(({ name, file }) => [name, file].some((text) => text.includes(wanted)));
const copy = mkdtempSync(join(tmpdir(), 'guards-'));
const noticed = new Map();
try {
  for (const path of [...COPIED, ...CONFIGURED]) {
    cpSync(path, join(copy, path), {
      recursive: true,
      preserveTimestamps: true,
      filter: (from) => basename(from) !== 'node_modules',
    });
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  for (const guard of guards) {
    const { test, problem } = testThatNotices(guard);
    if (test) noticed.set(guard.name, test);
    console.log(`${test ? 'noticed' : 'MISSED '}  ${guard.name}: ${test ?? problem}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
await writeTable(new Map([...readTable(), ...noticed]));
console.log(`${noticed.size} noticed, ${guards.length - noticed.size} missed`);
if (guards.length === 0 || noticed.size < guards.length) process.exitCode = 1;

/** The first test that fails without the guard, or why there is none. */
function testThatNotices({ file, guard, without, tests }) {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(guard).length !== 2) return { problem: `does not stand exactly once in ${file}` };
  writeFileSync(
    path,
    source.replace(guard, () => without),
  );
  try {
    return firstFailure(tests);
  } finally {
    writeFileSync(path, source);
  }
}

function firstFailure(tests) {
  const output = join(copy, 'jest.json');
  rmSync(output, { force: true });
  const jest = [
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
  ];
  const files = tests.map((name) => `/test/${name}\\.(e2e-)?spec\\.ts$`);
  // Runs in the copy and without npm, whose scripts would build the service again for each guard. A failing
  // test may leave its service open, and the run must not wait for it.
  spawnSync(
    process.execPath,
    [...jest, ...files, '--json', `--outputFile=${output}`, '--bail=1', '--forceExit'],
    {
      cwd: copy,
      stdio: 'ignore',
      timeout: TESTS_END_MS,
    },
  );
  const results = readResults(output);
  if (!results) return { problem: 'the tests did not come to an end' };
  const failures = results.flatMap(({ name, assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map((each) => ({ name, ...each })),
  );
  const [first] = failures;
  if (first) return { test: `${basename(first.name)}: ${first.fullName}` };
  const [message = 'every test passed'] = results.flatMap(({ status, message }) =>
    status === 'failed' ? [message] : [],
  );
  return { problem: results.length === 0 ? `there is no test ${tests.join(', ')}` : message };
}

function readResults(output) {
  try {
    return JSON.parse(readFileSync(output, 'utf8')).testResults;
  } catch {
    return undefined;
  }
}
