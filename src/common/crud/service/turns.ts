/** The turns of concurrent creates, so that their records are stored in the order of the requests. */
export class Turns {
  private last: Promise<void> = Promise.resolve();

  /** Takes the next turn: `come` resolves when all earlier ones have passed. */
  next(): Turn {
    const come = this.last;
    let pass: () => void = () => undefined;
    this.last = new Promise((resolve) => (pass = resolve));
    return { come, pass };
  }
}

/** One turn. Its holder must pass it on, however the create ends. */
export interface Turn {
  readonly come: Promise<void>;
  readonly pass: () => void;
}

/** Additional input of one create. */
export interface CreatePlace {
  /** When the record may be stored. @default at once */
  readonly turn?: Turn;
}
