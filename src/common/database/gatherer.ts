import { pause } from './background-tasks.js';

/** How items are gathered. */
export interface GathererOptions {
  /** Maximum number of items that one step carries out. Unit: items. */
  readonly max: number;
  /** How long a step waits for more items before it begins. Unit: milliseconds. @default 0 */
  readonly lingerMs?: number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly done: (result: Result) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Carries out together the items that are added in one tick or while another step runs: step by step, in
 * order of arrival.
 */
export class Gatherer<Item, Result> {
  private readonly waiting: Waiting<Item, Result>[] = [];
  private readonly draining = new AbortController();
  private running?: Promise<void>;

  /** @param carryOut carries out the items of one step, and returns their results in the same order */
  constructor(
    private readonly carryOut: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly options: GathererOptions,
  ) {}

  /** Resolves when the item has been carried out. @throws the error of its step */
  add(item: Item): Promise<Result> {
    return new Promise((done, failed) => {
      this.waiting.push({ item, done, failed });
      this.running ??= this.run();
    });
  }

  /** Carries out the gathered items without waiting for more. From then on, nothing waits. */
  async drain(): Promise<void> {
    this.draining.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { max, lingerMs = 0 } = this.options;
    // Items added in the same tick belong to one step.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      if (lingerMs > 0) await pause(lingerMs, this.draining.signal);
      await this.step(this.waiting.splice(0, max));
    }
    this.running = undefined;
  }

  private async step(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.carryOut(batch.map(({ item }) => item));
      for (const [i, { done }] of batch.entries()) done(results[i] as Result);
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}
