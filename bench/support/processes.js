import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Unit of times in /proc. Unit: milliseconds. */
const CLOCK_TICK = 10;

/** How long a process may take to end; the service takes ten seconds at most. Unit: milliseconds. */
const END_LIMIT_MS = 30_000;

/** Whether the system provides figures about other processes (Linux). */
export const knowsProcesses = existsSync('/proc/self/stat');

/**
 * CPU time of a process, including its threads and child processes. Unit: milliseconds.
 *
 * @returns undefined if the system does not provide it
 */
export function cpuOf({ pid }) {
  if (!knowsProcesses || pid === undefined) return undefined;
  const times = family(pid).map((one) => {
    // The name of a process is in parentheses, and may contain spaces.
    const fields = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK;
  });
  return times.reduce((sum, time) => sum + time, 0);
}

/**
 * Resident memory of a process and its child processes. Unit: MiB.
 *
 * @returns undefined if the system does not provide it
 */
export function rssOf({ pid }) {
  if (!knowsProcesses || pid === undefined) return undefined;
  const sizes = family(pid).map((one) => {
    const status = readFileSync(`/proc/${one}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * The process of this machine that was started with these arguments.
 *
 * @returns undefined if it is on another machine or belongs to another user, or if the system does not
 * provide it
 */
export function processWith(args) {
  if (!knowsProcesses) return undefined;
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const found = pids.find((pid) => commandLineOf(pid).endsWith(`\0${args.join('\0')}`));
  return found && Number(found);
}

function commandLineOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/\0+$/, '');
  } catch {
    return '';
  }
}

function family(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children.flatMap(family)];
}

/**
 * Starts a server, and resolves with its process and the text that `ready` first captures in its output.
 *
 * @throws Error if it ends before
 */
export async function startServer(args, env, ready, cwd = process.cwd()) {
  const child = spawn(process.execPath, args, { env, cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const said = ready.exec(line)?.[1];
    if (said === undefined) continue;
    child.stdout.resume();
    return { child, said };
  }
  throw new Error(`${args.join(' ')} does not start`);
}

/**
 * Stops a process gracefully, and resolves when it has ended.
 *
 * @throws Error if it had to be killed
 */
export async function stopProcess(child, limitMs = END_LIMIT_MS) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  const [, signal] = await ended;
  clearTimeout(timer);
  if (signal === 'SIGKILL')
    throw new Error(`${child.spawnargs.join(' ')} did not end within ${limitMs / 1_000} s of SIGTERM`);
}
