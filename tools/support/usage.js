import { existsSync, readFileSync } from 'node:fs';

/** Unit of times in /proc. Unit: milliseconds. */
const CLOCK_TICK = 10;

/** The heap that Node takes in the containers of deploy/kubernetes. Where it has more memory, it collects garbage later. */
export const CONTAINER_HEAP = { NODE_OPTIONS: '--max-old-space-size=384' };

/** CPU time of a process with its threads and children, or NaN where there is no /proc. Unit: milliseconds. */
export function cpuOf({ pid }) {
  return sumOf(pid, (one) => {
    // The name of a process is in parentheses, and may contain spaces.
    const fields = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK;
  });
}

/** Resident memory of a process with its children, or NaN where there is no /proc. Unit: MiB. */
export function rssOf(process) {
  return statusOf(process, 'VmRSS');
}

/** The same without mapped files, such as those of the embedded database: the kernel takes them back at need. */
export function ownMemoryOf(process) {
  return statusOf(process, 'RssAnon');
}

function statusOf({ pid }, name) {
  const figure = new RegExp(`${name}:\\s+(\\d+)`);
  return sumOf(pid, (one) => figure.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] / 1_024);
}

function sumOf(pid, figureOf) {
  return existsSync('/proc/self/stat') ? family(pid).reduce((sum, one) => sum + figureOf(one), 0) : NaN;
}

function family(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children.flatMap(family)];
}
