import { setTimeout as pause } from 'node:timers/promises';

/**
 * Repeats an assertion until it holds, for what happens in the background; fails with its last error.
 *
 * @param withinMs long enough for a machine that is busy with other tests, unless the time itself matters
 */
export async function eventually<T>(assertion: () => T | Promise<T>, withinMs = 30_000): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(20);
    }
  }
}
