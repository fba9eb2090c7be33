import { failure } from '../errors.js';

/** How long a command may run before other connections get their turn. Unit: milliseconds. */
const turnMs = 5;

/** A scan that can be interrupted. */
export interface Pausable {
  /** Releases the store's cursors. */
  release(): void;
  /** @throws CommandError if it cannot continue */
  resume(): void;
}

/**
 * Runs generators that yield `undefined` as an opportunity to pause, so that a long scan does not block other
 * connections.
 */
export class Pauses {
  private turnEnds = performance.now() + turnMs;
  private readonly deadline: number;

  /** @param maxTimeMs Time limit of the command; 0 means no limit. */
  constructor(maxTimeMs: number) {
    this.deadline = maxTimeMs > 0 ? performance.now() + maxTimeMs : Infinity;
  }

  /**
   * Pauses when the turn is over.
   *
   * @throws CommandError MaxTimeMSExpired (50), or QueryPlanKilled (175) if the data being read was dropped
   * in the pause
   */
  async breathe(scan: Pausable): Promise<void> {
    const now = performance.now();
    if (now > this.deadline) throw failure('MaxTimeMSExpired', 'operation exceeded time limit');
    if (now < this.turnEnds) return;
    scan.release();
    await new Promise((resolve) => setImmediate(resolve));
    this.turnEnds = performance.now() + turnMs;
    scan.resume();
  }
}
