import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Time over which the delay is averaged. Unit: milliseconds. */
const SAMPLE_MS = 1_000;
/** How often the event loop is measured, which counts as part of its delay. Unit: milliseconds. */
const RESOLUTION_MS = 10;

/** The average delay of the event loop over the last second. */
export class EventLoopDelay {
  private readonly histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private readonly timer = setInterval(() => this.sample(), SAMPLE_MS).unref();
  private average = 0;

  constructor() {
    this.histogram.enable();
  }

  /** Unit: milliseconds. */
  get ms(): number {
    return this.average;
  }

  stop(): void {
    clearInterval(this.timer);
    this.histogram.disable();
  }

  private sample(): void {
    const { mean } = this.histogram;
    // Without one measurement in a second, it was blocked all the time.
    this.average = Number.isNaN(mean) ? Infinity : Math.max(0, mean / 1e6 - RESOLUTION_MS);
    this.histogram.reset();
  }
}
