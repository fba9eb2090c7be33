import { setTimeout as pause } from 'node:timers/promises';

/** Repeats an assertion until it holds, long enough for a busy machine by default; fails with its last error. */
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
