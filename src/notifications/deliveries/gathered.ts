/** Something that waits for its command. */
interface Waiting<T> {
  readonly items: readonly T[];
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Sends what arrives while a command is in flight with the next one; what finds none in flight goes at once. */
export class Gathered<T> {
  private waiting: Waiting<T>[] = [];
  private isSending = false;

  /** @param send one command for many items; what it throws is told to all of them */
  constructor(private readonly send: (items: readonly T[]) => Promise<void>) {}

  /** Resolves when the items have been sent. */
  add(items: readonly T[]): Promise<void> {
    return new Promise((done, failed) => {
      this.waiting.push({ items, done, failed });
      if (!this.isSending) void this.run();
    });
  }

  private async run(): Promise<void> {
    this.isSending = true;
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0);
      await this.send(batch.flatMap(({ items }) => items)).then(
        () => batch.forEach(({ done }) => done()),
        (error: unknown) => batch.forEach(({ failed }) => failed(error)),
      );
    }
    this.isSending = false;
  }
}
