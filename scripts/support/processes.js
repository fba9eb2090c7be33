import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** How long a process may take to become ready on a busy machine, an emulated one at that. Unit: milliseconds. */
const READY_MS = 600_000;
/** How long a process may take to end; the service takes ten seconds at most. Unit: milliseconds. */
const END_MS = 30_000;
const POLL_MS = 20;

const running = new Set();
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A port of this host that is currently free. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a program, which ends with this process at the latest. The options are those of `spawn`. */
export function startProcess(program, args, options) {
  const child = spawn(program, args, options);
  running.add(child);
  return child.once('exit', () => running.delete(child));
}

/**
 * Starts the built service on a port of this host, and resolves with its process when it is ready; `url` is its address.
 *
 * @param port a free one by default
 * @param program the arguments of Node.js, for another application
 * @param waiting the options of {@link untilReady}
 */
export function startService(env, options) {
  return start(['dist/bundle/main.js'], 'PORT', env, options);
}

/** Starts a worker process; otherwise the same as {@link startService}. */
export function startWorker(env, options) {
  return start(['dist/bundle/worker.js'], 'WORKER_PORT', env, options);
}

async function start(built, portVariable, env, { port, program = built, ...waiting } = {}) {
  port ??= await freePort();
  const child = startProcess(process.execPath, program, {
    env: { ...env, HOST: '127.0.0.1', [portVariable]: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, () => isServing(url), waiting);
  return Object.assign(child, { url });
}

/** Whether the service at a URL is ready. */
export async function isServing(url) {
  // A connection that is kept would be part of what is measured later, such as a shutdown.
  const answer = await fetch(`${url}/health/ready`, { headers: { Connection: 'close' } });
  await answer.arrayBuffer();
  return answer.ok;
}

/**
 * Repeats a check of a process until it resolves with a truthy value.
 *
 * @throws Error if the process ends before, or is not ready in time and is killed
 */
export async function untilReady(child, isReady, { limitMs = READY_MS, pollMs = POLL_MS } = {}) {
  const deadline = Date.now() + limitMs;
  while (!hasEnded(child) && Date.now() < deadline) {
    if (await isReady().catch(() => false)) return;
    await pause(pollMs);
  }
  await killProcess(child);
  throw new Error(`${child.spawnargs.join(' ')} did not become ready`);
}

/**
 * Stops a process gracefully, and resolves with its exit code when it has ended.
 *
 * @throws Error if it had to be killed
 */
export async function stopProcess(child, limitMs = END_MS) {
  if (hasEnded(child)) return child.exitCode;
  const ended = once(child, 'exit');
  child.kill();
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  const [code, signal] = await ended;
  clearTimeout(timer);
  if (signal === 'SIGKILL')
    throw new Error(`${child.spawnargs.join(' ')} did not end within ${limitMs / 1_000} s of SIGTERM`);
  return code;
}

/** Kills a process, if it has not ended, and resolves when it has. */
export async function killProcess(child) {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

function hasEnded({ exitCode, signalCode }) {
  return exitCode !== null || signalCode !== null;
}
