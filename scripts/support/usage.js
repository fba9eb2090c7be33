import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Unit of times in /proc. Unit: milliseconds. */
const CLOCK_TICK = 10;
/** How often a watched memory is read. Unit: milliseconds. */
const WATCH_MS = 50;

/** Whether the system provides figures about other processes (Linux). */
const knowsProcesses = existsSync('/proc/self/stat');

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
  return family(pid).reduce((sum, one) => sum + statusOf(one, 'VmRSS'), 0);
}

/** Watches the resident memory of a process; `end` returns its lowest and its highest, also as a text. Unit: MiB. */
export function watchMemory(child) {
  let [lowest, highest] = [Infinity, 0];
  const look = () => {
    const now = rssOf(child);
    [lowest, highest] = [Math.min(lowest, now), Math.max(highest, now)];
  };
  look();
  const timer = setInterval(look, WATCH_MS);
  return {
    end() {
      clearInterval(timer);
      look();
      return { lowest, highest, toString: () => `${lowest.toFixed(0)} to ${highest.toFixed(0)} MiB` };
    },
  };
}

/** Begins to record the peak of a process's memory anew: see clear_refs in https://docs.kernel.org/filesystems/proc.html */
export function resetPeak({ pid }) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** The peak of a process's resident memory since {@link resetPeak}. Unit: MiB. */
export function peakOf({ pid }) {
  return statusOf(pid, 'VmHWM');
}

/** A size in the status of a process. Unit: MiB. */
export function statusOf(pid, field) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024;
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
