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

/** A scan that waits for its turn. */
interface Waiting {
  readonly deadline: number;
  readonly proceed: () => void;
}

/** The scans that wait, the longest first. */
let waiting: Waiting[] = [];

/**
 * Resolves when a scan may go on: one in each turn of the event loop, so that a short command does not wait for all
 * of them, or when its deadline has passed.
 */
function nextTurn(deadline: number): Promise<void> {
  return new Promise((proceed) => {
    if (waiting.push({ deadline, proceed }) === 1) setImmediate(giveTurn);
  });
}

function giveTurn(): void {
  const now = performance.now();
  const going = waiting.filter(({ deadline }, i) => i === 0 || deadline < now);
  waiting = waiting.filter((one) => !going.includes(one));
  if (waiting.length > 0) setImmediate(giveTurn);
  for (const { proceed } of going) proceed();
}

/**
 * Runs generators that yield `undefined` as an opportunity to pause, so that a long scan does not block other
 * connections.
 */
export class Pauses {
  private turnEnds = performance.now() + turnMs;
  /** When the time limit is over, by `performance.now()`; Infinity without one. */
  readonly deadline: number;

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
    if (this.checkDeadline() < this.turnEnds) return;
    scan.release();
    await nextTurn(this.deadline);
    this.turnEnds = this.checkDeadline() + turnMs;
    scan.resume();
  }

  /** Returns the time. @throws CommandError MaxTimeMSExpired (50) */
  private checkDeadline(): number {
    const now = performance.now();
    if (now > this.deadline) throw failure('MaxTimeMSExpired', 'operation exceeded time limit');
    return now;
  }
}
