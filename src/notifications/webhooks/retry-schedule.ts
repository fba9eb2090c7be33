const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long to wait after the first, the second … failed attempt. Unit: milliseconds. */
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

/** The part of a delay that chance may add, so that deliveries that failed together do not come back together. */
const JITTER = 0.1;

/** Attempts of a delivery: the one at once, and those after the delays. */
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
