/** Random choices that a seed repeats. */
export class Random {
  #state;
  /** Whether the case holds its mistake already. */
  mistaken = false;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** Starts a case, which may hold one mistake: which of several is reported first is no part of the comparison. */
  startCase() {
    this.mistaken = false;
  }

  /** Whether to put the case's mistake here. */
  mistake(probability) {
    if (this.mistaken || !this.chance(probability)) return false;
    this.mistaken = true;
    return true;
  }

  /** At least 0 and below 1 (the generator mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Makes something that holds no mistake. */
  flawless(make) {
    const before = this.mistaken;
    this.mistaken = true;
    const made = make();
    this.mistaken = before;
    return made;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit) {
    return Math.floor(this.next() * limit);
  }

  chance(probability) {
    return this.next() < probability;
  }

  pick(choices) {
    return choices[this.below(choices.length)];
  }

  /** Calls one of the functions; `[weight, function]` pairs. */
  weighted(choices) {
    let at = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, make] of choices) {
      at -= weight;
      if (at < 0) return make();
    }
    return choices[0][1]();
  }

  list(least, most, make) {
    return Array.from({ length: least + this.below(most - least + 1) }, make);
  }
}
