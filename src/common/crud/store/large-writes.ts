import { performance } from 'node:perf_hooks';
import { Batches, CALL_DEADLINE_MS } from '../../database/index.js';
import { DatabaseTooSlowError } from '../../errors/index.js';

/** Length of searched text from which on a write takes so long that others should not wait for it. Unit: UTF-16 code units. */
const LARGE = 4_096;

/** Duration of a write from which on it leaves time to others, and how many times its own. Unit: milliseconds. */
const LONG_MS = 20;
const TIMES_LEFT = 2;

/**
 * Writes with much text to index: one at a time, so that others overtake those that wait, which hold no words
 * meanwhile. After a long one none for twice as long, so that a client who sends many leaves the database to others.
 */
export class LargeWrites {
  private nextAt = 0;
  private waiting = 0;
  /** How long the latest one kept others from beginning. Unit: milliseconds. */
  private cycleMs = 0;
  private readonly batches = new Batches<() => Promise<unknown>, unknown>(
    ([write]) => this.leavingTime(async () => [await write?.()]),
    { max: 1 },
  );

  /**
   * Carries out a write when it is its turn: at once, if it has less text.
   *
   * @throws DatabaseTooSlowError if its turn will not come in time: at once, so that its request keeps no place
   */
  async inTurn<T>(length: number, write: () => Promise<T>): Promise<T> {
    if (length < LARGE) return write();
    if (this.waiting * this.cycleMs > CALL_DEADLINE_MS) throw new DatabaseTooSlowError();
    const since = performance.now();
    this.waiting += 1;
    try {
      const result = await this.batches.add(() => {
        // Its caller has been told so already.
        if (performance.now() - since > CALL_DEADLINE_MS) throw new DatabaseTooSlowError();
        return write();
      });
      return result as T;
    } finally {
      this.waiting -= 1;
    }
  }

  private async leavingTime<T>(write: () => Promise<T>): Promise<T> {
    const wait = this.nextAt - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const begun = performance.now();
    try {
      return await write();
    } finally {
      const now = performance.now();
      const took = now - begun;
      const left = took > LONG_MS ? TIMES_LEFT * took : 0;
      this.nextAt = now + left;
      this.cycleMs = took + left;
    }
  }
}
