const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long to wait after the first, second, and later failed attempts. Unit: milliseconds. */
const DELAYS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** Maximum random part of a delay, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/** Number of attempts of a delivery: one at once, and one after each delay. */
export const MAX_ATTEMPTS = DELAYS.length + 1;

/**
 * How long to wait before the next attempt. Unit: milliseconds.
 *
 * @param failed attempts so far, at least one
 * @param random from 0 to 1
 * @returns undefined after the last attempt
 */
export function retryDelayMs(failed: number, random = Math.random()): number | undefined {
  const delay = DELAYS[failed - 1];
  return delay === undefined ? undefined : delay * (1 + JITTER * random);
}
