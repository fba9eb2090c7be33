import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { positive, readArguments } from '../scripts/support/arguments.js';
import { freePort } from '../scripts/support/processes.js';
import { isInstalled, lastLines, pressCtrlC, startCommand, succeeded, typeInto } from './support/commands.js';
import { documentedCommands, newTerminal } from './support/readme.js';

const USAGE = `Usage: node tools/newcomer.js [options]

Repeats the first hour of a newcomer in a fresh clone of HEAD: each command of the README's first sections and its tour
in bash and zsh, npm run start:dev, and the tour on several versions of Node, which come from npm. Prints the time of
each step, and fails if one takes too long; the limits assume that npm's cache has the packages.

  --node 20.19.0,24    versions of Node; by default 20,22,24
  --slowness 4         four times the time for each step, on a busy machine
  --keep               keeps the clone`;
const { values } = readArguments(USAGE, {
  keep: { type: 'boolean' },
  node: { type: 'string', default: '20,22,24' },
  slowness: { type: 'string', default: '1' },
});
const slowness = positive('slowness', values.slowness);

/** Limits for a newcomer's waiting times. Unit: milliseconds. */
const CLONE_TO_REQUEST = 30_000 * slowness;
const SCAFFOLD_TO_REQUEST = 15_000 * slowness;
const END = 12_000 * slowness;
/** For everything else, such as an installation. Unit: milliseconds. */
const LONG = 180_000 * slowness;

const root = process.cwd();
const folder = mkdtempSync(join(tmpdir(), 'newcomer-'));
const clone = join(folder, 'clone');
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const env = { ...newTerminal(root), PORT: String(port) };
const counts = { passed: 0, failed: 0 };

/** Runs a step, prints its time, and resolves with it; with undefined if it throws or takes longer than its limit. */
async function step(name, action, limit = Infinity) {
  const begun = Date.now();
  const fault = await action().then(
    () => undefined,
    (error) => error.message,
  );
  return took(name, Date.now() - begun, limit, fault);
}

function took(name, ms, limit, fault = ms > limit ? `longer than ${limit / 1_000} s` : undefined) {
  counts[fault === undefined ? 'passed' : 'failed'] += 1;
  const seconds = `${(ms / 1_000).toFixed(1).padStart(6)} s`;
  console.log(fault === undefined ? `ok     ${seconds}  ${name}` : `FAILED ${seconds}  ${name}: ${fault}`);
  return fault === undefined ? ms : undefined;
}

const inClone = (program, args, more = {}) =>
  succeeded(startCommand(program, args, { cwd: clone, env: { ...env, ...more } }), LONG);
const typed = (shell, line) => typeInto(shell, line, { cwd: clone, env });

/** Repeats a check until it succeeds, unless that takes too long or the command ends. */
async function until(check, command, withinMs) {
  const deadline = Date.now() + withinMs;
  while (!(await check().catch(() => false))) {
    if (command.hasEnded) throw new Error(`${command.name} has ended:\n${lastLines(command)}`);
    if (Date.now() > deadline) throw new Error(`Not after ${withinMs / 1_000} s:\n${lastLines(command)}`);
    await pause(50);
  }
}

/** Whether a resource accepts a record. */
async function creates(path) {
  const headers = { 'Content-Type': 'application/json' };
  const body = JSON.stringify({ title: 'Water the plants' });
  return (await fetch(`${url}/${path}`, { method: 'POST', headers, body })).status === 201;
}

/** Starts the service, waits until a create succeeds, and stops it. Resolves with the time until that answer. */
async function startAndStop(name, start, path = 'todos', limit = Infinity) {
  let command;
  const answers = async () => {
    command = await start();
    await until(() => creates(path), command, LONG);
  };
  const ms = await step(name, answers, limit);
  if (command) await step('Ctrl-C', () => pressCtrlC(command, END), END);
  return ms;
}

async function inShell(shell, { test, scaffolds }) {
  const line = `${test} -- test/todos/todos.e2e-spec.ts`;
  await step(`${line} (${shell})`, () => succeeded(typed(shell, line), LONG));
  await step(`the tour (${shell})`, () => inClone('node', ['tools/smoke.js', '--shell', shell]));
  for (const scaffold of scaffolds) {
    const [, resource] = / (?:--|resource) (\S+) /.exec(scaffold);
    const start = async () => {
      await succeeded(typed(shell, scaffold), LONG);
      return typed(shell, 'npm start');
    };
    await startAndStop(
      `${scaffold}; npm start; first request (${shell})`,
      start,
      resource,
      SCAFFOLD_TO_REQUEST,
    );
    undoChanges();
  }
}

async function develop(scaffold) {
  const command = typed('bash', 'npm run start:dev');
  await step('npm run start:dev', () => until(() => creates('todos'), command, LONG));
  const generate = async () => {
    await succeeded(typed('bash', scaffold), LONG);
    await until(() => creates('comments'), command, LONG);
  };
  await step(`${scaffold}; first request, under start:dev`, generate, SCAFFOLD_TO_REQUEST);
  await step('Ctrl-C', () => pressCtrlC(command, END), END);
  undoChanges();
}

/** Builds and runs the tour on another Node. npm has each version as a package for the platform, with the binary. */
async function onNode(version) {
  const name = `node-${process.platform}-${process.arch}`;
  const home = join(folder, `node-${version}`);
  const PATH = [join(home, 'node_modules', name, 'bin'), env.PATH].join(delimiter);
  const install = ['install', '--no-audit', '--no-fund', '--prefix', home, `${name}@${version}`];
  await succeeded(startCommand('npm', install, { cwd: folder, env }), LONG);
  const running = startCommand('node', ['--version'], { cwd: clone, env: { ...env, PATH } });
  await succeeded(running, LONG);
  if (!running.output.startsWith(`v${version}`)) throw new Error(`The Node is ${running.output.trim()}.`);
  await inClone('npm', ['run', 'build'], { PATH });
  await inClone('node', ['tools/smoke.js'], { PATH });
}

/** Undoes all changes of the clone, but keeps what git ignores: packages, builds and data. */
function undoChanges() {
  execFileSync('git', ['checkout', '--quiet', '.'], { cwd: clone });
  execFileSync('git', ['clean', '--force', '-d', '--quiet'], { cwd: clone });
}

async function hour() {
  const git = startCommand('git', ['clone', '--quiet', root, clone], { cwd: folder, env });
  const cloned = await step('git clone', () => succeeded(git, LONG));
  if (cloned === undefined) return;
  const commands = documentedCommands(clone);
  const started = await startAndStop(`${commands.start}; first request`, () => typed('bash', commands.start));
  if (started === undefined) return;
  took('from git clone to the first request', cloned + started, CLONE_TO_REQUEST);
  for (const shell of ['bash', 'zsh']) {
    if (isInstalled(shell)) await inShell(shell, commands);
    else console.log(`SKIPPED          the commands in ${shell}: it is not installed`);
  }
  await step('npm run client', () => inClone('npm', ['run', 'client']));
  await develop(commands.scaffolds[0]);
  for (const version of values.node.split(','))
    await step(`build and tour on Node ${version}`, () => onNode(version));
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
process.on('exit', () => {
  if (values.keep) console.log(`The clone is ${clone}`);
  else rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});
await step('the hour', hour);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
