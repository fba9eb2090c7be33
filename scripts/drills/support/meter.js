import { setTimeout as pause } from 'node:timers/promises';
import { cpuOf, peakOf, resetPeak, rssOf } from '../../support/usage.js';

/** Time for work after an answer, such as freeing memory. Unit: milliseconds. */
const SETTLED_MS = 300;

/**
 * Measures what a process takes while something happens to it.
 *
 * @returns the result, the CPU time (unit: milliseconds) and by how much the resident memory grew at its peak (unit: MiB)
 */
export async function metered(service, happen) {
  const before = rssOf(service);
  resetPeak(service);
  const cpu = cpuOf(service);
  const result = await happen();
  await pause(SETTLED_MS);
  return { result, cpuMs: cpuOf(service) - cpu, grownMiB: Math.max(peakOf(service) - before, 0) };
}
