import { readArguments } from '../../scripts/support/arguments.js';

const SHOWN_FAULTS = 20;
/** Number of kills between two lines about the progress. */
const TOLD_EVERY = 10;

/**
 * A check that kills processes at random moments: it has the options `--kills` and `--seed`, and the same
 * moments for the same seed. Ctrl-C and SIGTERM end the kills, and what was done is still checked.
 */
export class KillRun {
  kills = 0;
  /** Whether there are no more kills to come. */
  isOver = false;
  faults = [];

  /** @param options besides `--kills` and `--seed`, as for `parseArgs` */
  constructor(usage, options = {}) {
    const kills = { type: 'string', default: '5' };
    this.options = readArguments(usage, { kills, seed: { type: 'string' }, ...options }).values;
    this.planned = Number(this.options.kills);
    this.seed = Number(this.options.seed ?? Date.now() % 1_000_000);
    this.random = randomOf(this.seed);
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => (this.planned = 0));
  }

  /** Says what is done, on which database. */
  begin(where) {
    console.log(`${this.planned} kills, seed ${this.seed}, on ${where}`);
  }

  /** Repeats a kill as often as planned. @param progress text about what has been done so far */
  async repeat(kill, progress) {
    while (this.kills < this.planned) {
      await kill();
      if (++this.kills % TOLD_EVERY === 0) console.log(`${this.kills} kills, ${progress()}`);
    }
    this.isOver = true;
  }

  fault(text) {
    if (this.faults.push(text) <= SHOWN_FAULTS) console.log(text);
  }

  /** Ends this process, with 1 if there are faults. */
  end(summary) {
    console.log(`${this.kills} kills, ${summary}: ${this.faults.length} faults`);
    process.exit(this.faults.length > 0 ? 1 : 0);
  }
}

/** Mulberry32: the same numbers for the same seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
