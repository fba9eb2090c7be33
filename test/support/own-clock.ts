import { mock } from 'node:test';

let isOwn = false;

/** Stops the clock for what an application begins from now on: time passes only with {@link passTime}. */
export function stopClock(...apis: ('Date' | 'setTimeout')[]): void {
  mock.timers.enable({ apis, now: Date.now() });
  isOwn = true;
}

/** Lets time pass. Unit: milliseconds. */
export const passTime = (ms: number) => mock.timers.tick(ms);

/** Ends what still waits, and goes on with the real clock. Call it before the application is closed. */
export function releaseClock(): void {
  if (isOwn) mock.timers.runAll();
  isOwn = false;
  mock.timers.reset();
}
