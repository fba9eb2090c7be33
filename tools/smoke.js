import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '../scripts/support/arguments.js';
import {
  freePort,
  isServing,
  killProcess,
  startProcess,
  stopProcess,
  untilReady,
} from '../scripts/support/processes.js';
import { succeeded, typeInto } from './support/commands.js';

/**
 * Runs the tour of README.md and docs/tour.md: a block that begins with ```sh tour 201 200 has a status for each
 * line that begins with curl. The environment's variables are passed to the service.
 */
const USAGE = `Usage: node tools/smoke.js [FILE] [--shell zsh]

Runs the tour of README.md and docs/tour.md on the built service, in bash or zsh, and writes its OpenAPI document to FILE.`;
const READY_MS = 30_000;
const TOUR_MS = 120_000;
const EXIT_MS = 12_000;

const { values, positionals } = readArguments(
  USAGE,
  { shell: { type: 'string', default: 'bash' } },
  { positionals: [0, 1] },
);

/** The tour as lines for a shell, in which each curl also checks its status. */
function tourLines(port) {
  const text = ['README.md', 'docs/tour.md'].map((page) => readFileSync(page, 'utf8')).join('\n');
  const blocks = [...text.matchAll(/^```sh tour((?: \d{3})+)\n(.*?)^```/gms)];
  if (blocks.length === 0) throw new Error('No block begins with ```sh tour and a status.');
  const checks = blocks.flatMap(([, stated, commands]) => {
    const statuses = stated.trim().split(' ');
    const lines = commands.trim().replaceAll('localhost:3000', `127.0.0.1:${port}`).split('\n');
    const checked = lines.map((line) =>
      line.startsWith('curl ') ? `check ${statuses.shift()} ${line.slice('curl '.length)}` : line,
    );
    if (statuses.length > 0 || checked.some((line) => line.startsWith('check undefined')))
      throw new Error(`This block of the tour does not state one status a curl:\n${commands}`);
    return checked;
  });
  const curls = checks.filter((line) => line.startsWith('check ')).length;
  return `
    passed=0 failed=0
    check() {
      local wanted=$1; shift
      local got; got=$(curl --silent --show-error --max-time 20 --output /dev/null --write-out '%{http_code}' "$@")
      if [ "$got" = "$wanted" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "expected $wanted, got $got: curl $*"; fi
    }
    ${checks.join('\n')}
    echo "The tour: $passed passed, $failed failed"
    [ "$passed" = ${curls} ]`;
}

const port = await freePort();
const dataDir = mkdtempSync(join(tmpdir(), 'smoke-'));
const env = { ...process.env, PORT: String(port), HOST: '127.0.0.1', DATA_DIR: dataDir };
const stdio = ['ignore', 'pipe', 'inherit'];
const service = startProcess(process.execPath, ['dist/bundle/main.js'], { env, stdio });
let log = '';
service.stdout.on('data', (chunk) => (log += chunk));
let failure;
try {
  const url = `http://127.0.0.1:${port}`;
  await untilReady(service, () => isServing(url), { limitMs: READY_MS });
  const document = await fetch(`${url}/docs/openapi.json`);
  const [file] = positionals;
  if (file) writeFileSync(file, await document.text());
  const tour = typeInto(values.shell, tourLines(port), { name: 'The tour', cwd: process.cwd(), env });
  await succeeded(tour, TOUR_MS);
  console.log(/The tour: \d.*/.exec(tour.output)[0]);
  const code = await stopProcess(service, EXIT_MS);
  if (code !== 0) failure = `The service ended with ${code} on SIGTERM, not with 0.`;
} catch (error) {
  failure = error.message;
  await killProcess(service);
}
rmSync(dataDir, { recursive: true });
if (failure) {
  console.error(log.split('\n').slice(-20).join('\n') + failure);
  process.exitCode = 1;
}
