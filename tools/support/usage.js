import { existsSync, readFileSync } from 'node:fs';

/** Unit of times in /proc. Unit: milliseconds. */
const CLOCK_TICK = 10;

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

/** A size in the status of a process. Unit: MiB. */
function statusOf(pid, field) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024;
}

function family(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children.flatMap(family)];
}
