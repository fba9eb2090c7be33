import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { readArguments } from '../scripts/support/arguments.js';
import { freePort } from '../scripts/support/processes.js';
import { documentedCommands, newTerminal, undoChanges } from './newcomer/clone.js';
import { saveOften } from './newcomer/saves.js';
import { creates, until } from './newcomer/service.js';
import { Steps } from './newcomer/steps.js';
import { isInstalled, pressCtrlC, startCommand, succeeded, typeInto } from './support/commands.js';

/**
 * Repeats a newcomer's first hour in a fresh clone of HEAD: each command of the README's first sections and
 * its tour in bash and zsh, `npm run start:dev` with many saves, the commands that write a resource, and the
 * tour on several versions of Node. The limits assume that npm's cache has the packages.
 */
const USAGE = `Usage: node tools/newcomer.js [options]

Repeats the first hour of a newcomer in a fresh clone of HEAD, and prints the time of each step.

  --node 20.19.0,24    versions of Node for the build and the tour; by default 20,22,24
  --parts bash,dev     some of the parts bash, zsh, dev and node
  --saves 3            number of saves under npm run start:dev; by default 20
  --slowness 4         four times the time for each step, on a busy machine
  --keep               keeps the clone`;
const { values } = readArguments(USAGE, {
  keep: { type: 'boolean' },
  node: { type: 'string', default: '20,22,24' },
  parts: { type: 'string', default: 'bash,zsh,dev,node' },
  saves: { type: 'string', default: '20' },
  slowness: { type: 'string', default: '1' },
});
const parts = values.parts.split(',');
const slowness = Number(values.slowness);

/** Limits for a newcomer's waiting times. Unit: milliseconds. */
const CLONE_TO_REQUEST = 30_000 * slowness;
const SCAFFOLD_TO_REQUEST = 15_000 * slowness;
const SAVE = 15_000 * slowness;
const END = 12_000 * slowness;
/** For everything else, such as an installation. Unit: milliseconds. */
const LONG = 180_000 * slowness;

const root = process.cwd();
const folder = mkdtempSync(join(tmpdir(), 'newcomer-'));
const clone = join(folder, 'clone');
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const env = { ...newTerminal(root), PORT: String(port) };
const steps = new Steps();

const inClone = (program, args, more = {}) =>
  succeeded(startCommand(program, args, { cwd: clone, env: { ...env, ...more } }), LONG);
const typed = (shell, line) => typeInto(shell, line, { cwd: clone, env });

/**
 * Starts the service, waits until a create succeeds, and stops it. Resolves with the time until that answer.
 */
async function startAndStop(name, start, path = 'todos', limit = Infinity) {
  let command;
  const answers = async () => {
    command = await start();
    await until(() => creates(url, path), command, LONG);
  };
  const took = await steps.run(name, answers, limit);
  if (command) await steps.run('Ctrl-C', () => pressCtrlC(command, END), END);
  return took;
}

async function inShell(shell, commands) {
  await steps.run(`${commands.test} -- test/todos/todos.e2e-spec.ts (${shell})`, () =>
    succeeded(typed(shell, `${commands.test} -- test/todos/todos.e2e-spec.ts`), LONG),
  );
  await steps.run(`the tour (${shell})`, () => inClone('node', ['tools/smoke.js', '--shell', shell]));
  for (const line of commands.scaffolds) {
    const resource = / (?:--|resource) (\S+) /.exec(line)[1];
    const scaffold = async () => {
      await succeeded(typed(shell, line), LONG);
      return typed(shell, 'npm start');
    };
    const name = `${line}; npm start; first request (${shell})`;
    await startAndStop(name, scaffold, resource, SCAFFOLD_TO_REQUEST);
    undoChanges(clone);
  }
}

async function develop(scaffold) {
  const command = typed('bash', 'npm run start:dev');
  await steps.run('npm run start:dev', () => until(() => creates(url, 'todos'), command, LONG));
  await saveOften(steps, Number(values.saves), { clone, url, command, limit: SAVE });
  const generate = async () => {
    await succeeded(typed('bash', scaffold), LONG);
    await until(() => creates(url, 'comments'), command, LONG);
  };
  await steps.run(`${scaffold}; first request, under start:dev`, generate, SCAFFOLD_TO_REQUEST);
  await steps.run('Ctrl-C', () => pressCtrlC(command, END), END);
  undoChanges(clone);
}

/**
 * Builds and runs the tour on another Node. npm provides each version as a package for the platform, with the
 * binary inside.
 */
async function onNode(version) {
  const name = `node-${process.platform}-${process.arch}`;
  const home = join(folder, `node-${version}`);
  const PATH = [join(home, 'node_modules', name, 'bin'), env.PATH].join(delimiter);
  const tour = async () => {
    const install = ['install', '--no-audit', '--no-fund', '--prefix', home, `${name}@${version}`];
    await succeeded(startCommand('npm', install, { cwd: folder, env }), LONG);
    const running = startCommand('node', ['--version'], { cwd: clone, env: { ...env, PATH } });
    await succeeded(running, LONG);
    if (!running.output.startsWith(`v${version}`)) throw new Error(`The Node is ${running.output.trim()}.`);
    await inClone('npm', ['run', 'build'], { PATH });
    await inClone('node', ['tools/smoke.js'], { PATH });
  };
  await steps.run(`build and tour on Node ${version}`, tour);
}

async function hour() {
  const git = startCommand('git', ['clone', '--quiet', root, clone], { cwd: folder, env });
  const cloned = await steps.run('git clone', () => succeeded(git, LONG));
  if (cloned === undefined) return;
  const commands = documentedCommands(clone);

  const started = await startAndStop(`${commands.start}; first request (bash)`, () =>
    typed('bash', commands.start),
  );
  if (started === undefined) return;
  steps.took('from git clone to the first request', cloned + started, CLONE_TO_REQUEST);

  if (parts.includes('bash')) {
    await inShell('bash', commands);
    await steps.run('npm run client', () => inClone('npm', ['run', 'client']));
  }
  if (parts.includes('zsh') && isInstalled('zsh')) {
    await startAndStop(`${commands.start}; first request (zsh)`, () => typed('zsh', commands.start));
    await inShell('zsh', commands);
  } else {
    steps.skip(
      'the commands in zsh',
      isInstalled('zsh') ? 'it is not one of --parts' : 'zsh is not installed',
    );
  }
  if (parts.includes('dev')) await develop(commands.scaffolds[0]);
  if (parts.includes('node')) for (const version of values.node.split(',')) await onNode(version);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
process.on('exit', () => {
  if (values.keep) console.log(`The clone is ${clone}`);
  else rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});
await hour().catch((error) => steps.took('the hour', 0, undefined, error.message));
steps.end();
