/** How items are batched. */
export interface BatchOptions {
  /** Maximum number of items of one step. Unit: items. @default all that wait */
  readonly max?: number;
  /** How many steps of a kind may run before its items have to wait. Unit: steps. @default 1 */
  readonly atOnce?: number;
  /** Called with the number of items of each step that begins. @default nothing */
  readonly begun?: (size: number) => void;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly done: (result: Result) => void;
  readonly failed: (error: unknown) => void;
}

interface Kind<Item, Result> {
  readonly waiting: Waiting<Item, Result>[];
  underWay: number;
}

/**
 * Natural batching: an item whose kind has no running step is carried out at once. Items that arrive
 * meanwhile are carried out together by the next step, which begins when one returns. No item joins a step
 * that has begun.
 */
export class Batches<Item, Result> {
  private readonly kinds = new Map<string, Kind<Item, Result>>();

  /**
   * @param carryOut carries out the items of one step, all of one kind, and returns their results in the same
   * order
   */
  constructor(
    private readonly carryOut: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly options: BatchOptions = {},
  ) {}

  /** Resolves when the item has been carried out. @throws the error of its step */
  add(key: string, item: Item): Promise<Result> {
    const kind = this.kindOf(key);
    return new Promise((done, failed) => {
      kind.waiting.push({ item, done, failed });
      if (kind.underWay < (this.options.atOnce ?? 1)) void this.run(key, kind);
    });
  }

  private kindOf(key: string): Kind<Item, Result> {
    const known = this.kinds.get(key);
    if (known) return known;
    const kind = { waiting: [], underWay: 0 };
    this.kinds.set(key, kind);
    return kind;
  }

  private async run(key: string, kind: Kind<Item, Result>): Promise<void> {
    kind.underWay += 1;
    // Items added in the same tick belong to one step.
    await Promise.resolve();
    while (kind.waiting.length > 0) await this.step(kind.waiting.splice(0, this.options.max ?? Infinity));
    kind.underWay -= 1;
    // Keys come from requests, so a key that nobody waits for is removed.
    if (kind.underWay === 0) this.kinds.delete(key);
  }

  private async step(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.options.begun?.(batch.length);
    try {
      const results = await this.carryOut(batch.map(({ item }) => item));
      for (const [i, { done }] of batch.entries()) done(results[i] as Result);
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}

/**
 * Carries out equal work once for all who have asked for it when it begins. They share the result.
 *
 * @param options of the batching
 */
export function sharing<Result>(options?: BatchOptions): Batches<() => Promise<Result>, Result> {
  return new Batches<() => Promise<Result>, Result>(async ([first, ...others]) => {
    const result = await (first as () => Promise<Result>)();
    return [result, ...others.map(() => result)];
  }, options);
}
