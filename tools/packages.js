import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import ts from 'typescript';
import { readArguments } from '../scripts/support/arguments.js';
import { freePort, startProcess, stopProcess } from '../scripts/support/processes.js';

const USAGE = `Usage: npm run packages --prefix tools [-- --short]

Checks what npm run pack has written: asks npm, publint and are-the-types-wrong, tests and starts each template, and
compiles. With --short it asks npm alone, and takes the template that has most.`;
const { short } = readArguments(USAGE, { short: { type: 'boolean' } }).values;

const TEMPLATES = ['notifications', ...(short ? [] : ['express', 'fastify'])];
/** Reads the declarations of packages, too. Where other compilers look for them, are-the-types-wrong knows. */
const STRICT = { strict: true, exactOptionalPropertyTypes: true, target: 'es2023', module: 'node16' };
const CONSUMER = `
import { createCrudApp, CrudModule, describeCrudContract } from './all.js';
export const app = createCrudApp(class Root {}, { docs: { title: 'Shop' } });
export const root = CrudModule.forRoot({ database: { memory: true } });
export { describeCrudContract };
`;
/** Fails where a newcomer would read a warning. */
const STRICTLY = ['--engine-strict', '--strict-allow-scripts', '--loglevel=error'];
const BIN = 'tools/node_modules/.bin';
const DOORS = ['', '/notifications', '/testing', '-embedded'].map((door) => `nestjs-mongo-crud${door}`);

const work = mkdtempSync(join(tmpdir(), 'packages-'));
process.once('exit', () => rmSync(work, { recursive: true, force: true, maxRetries: 10 }));
const tarballs = readdirSync('packages')
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => resolve('packages', name));
const [creator, ...libraries] = tarballs;

for (const tarball of tarballs) {
  run('.', 'npm', 'publish', '--dry-run', '--access', 'public', '--loglevel=error', tarball);
  if (short) continue;
  run('.', `${BIN}/publint`, '--strict', tarball);
  // CommonJS can require modules on each version of Node that the packages run on.
  if (tarball !== creator)
    run('.', `${BIN}/attw`, '--quiet', '--ignore-rules', 'cjs-resolves-to-esm', '--', tarball);
}
for (const [index, template] of TEMPLATES.entries()) await tryOut(template, TEMPLATES[index - 1]);

/** Begins with what the template before has installed, of which npm takes away what this one does not ask for. */
async function tryOut(template, before) {
  const folder = join(work, template);
  const create = ['exec', '--yes', `--package=${creator}`, '--', 'create-nestjs-mongo-crud'];
  run(work, 'npm', ...create, folder, '--template', template, '--no-install');
  if (before) renameSync(join(work, before, 'node_modules'), join(folder, 'node_modules'));
  run(folder, 'npm', 'install', '--prefer-offline', '--no-audit', ...STRICTLY, ...libraries);
  run(folder, 'npm', 'test');
  const [PORT, token] = [await freePort(), run(folder, 'npm', 'run', '--silent', 'token').trim()];
  const program = ['--env-file=.env', 'dist/main.js'];
  const options = { cwd: folder, env: { ...process.env, PORT: String(PORT) } };
  const app = startProcess(process.execPath, program, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((ready) => app.stdout.on('data', (text) => /The explorer is at/.test(text) && ready()));
  let response;
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const request = { method: 'POST', headers, body: '{"text":"Buy stamps"}' };
  // As a client would: the machine may be busy with other steps.
  do {
    response = await fetch(`http://127.0.0.1:${PORT}/notes`, request);
  } while (response.status === 503 && (await pause(5_000, true)));
  const { stderr } = spawnSync(process.execPath, program, { ...options, encoding: 'utf8' });
  if (!/^listen EADDRINUSE.+\n$/.test(stderr)) throw new Error(`${template}, the port in use: ${stderr}`);
  if (response.status !== 201) throw new Error(`${template}: ${response.status} ${await response.text()}`);
  await stopProcess(app);
  if (template === TEMPLATES[0]) compile(folder);
  console.log(`The template ${template} is installed, tested and started.`);
}

/** Asks for the errors of our files alone: those in the declarations of other packages are theirs. */
function compile(folder) {
  writeFileSync(join(folder, 'all.ts'), DOORS.map((door) => `export * from '${door}';\n`).join(''));
  writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
  const { options } = ts.convertCompilerOptionsFromJson(STRICT, folder);
  const program = ts.createProgram([join(folder, 'consumer.ts')], options);
  const errors = program
    .getSourceFiles()
    .filter(({ fileName }) => !/node_modules\/(?!nestjs-mongo-crud)/.test(fileName))
    .flatMap((file) => ts.getPreEmitDiagnostics(program, file));
  if (errors.length > 0) throw new Error(ts.formatDiagnostics(errors, ts.createCompilerHost(options)));
}

function run(cwd, command, ...args) {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  } catch (error) {
    throw new Error(`${command} ${args.join(' ')}\n${error.stdout}`, { cause: error });
  }
}
