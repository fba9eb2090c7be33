import { performance } from 'node:perf_hooks';

/** Weight of the latest interval in the average. */
const WEIGHT = 0.1;

/** How quickly turns follow each other while requests wait. Unit of its times: milliseconds. */
export class Pace {
  private average = 0;
  private last = performance.now();

  /** Records a turn. @param hurried whether a request had waited for it */
  turn(now: number, hurried: boolean): void {
    if (hurried) this.average += WEIGHT * (now - this.last - this.average);
    this.last = now;
  }

  /** How long the next turns will probably take; at least as long as the time since the last one. */
  timeOf(turns: number, now: number): number {
    return Math.max(turns * this.average, now - this.last);
  }
}
