import { DatabaseTooSlowError } from '../errors/index.js';
import { pause } from './background-tasks.js';

/** How items are batched. */
export interface BatchOptions<Item = unknown> {
  /** Maximum number of items of one step. Unit: items. @default all that wait */
  readonly max?: number;
  /** Weight of an item, and the maximum weight of a step with several items. @default no maximum */
  readonly weight?: { readonly of: (item: Item) => number; readonly max: number };
  /** How many steps of a kind may run before its items have to wait. Unit: steps. @default 1 */
  readonly atOnce?: number;
  /** How long a step waits for more items before it begins. Unit: milliseconds. @default 0 */
  readonly lingerMs?: number;
  /** Called before each step, which waits for it. @default nothing */
  readonly beforeStep?: () => Promise<unknown> | undefined;
  /** An item that waits longer for its step is not carried out, and fails. Unit: milliseconds. @default no maximum */
  readonly patienceMs?: number;
  /** Whether to pause after a step for as long as it took, so that the database serves others. @default false */
  readonly pausesBetweenSteps?: boolean;
  /** Called with the number of items of each step that begins. @default nothing */
  readonly onStep?: (size: number) => void;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly since: number;
  readonly done: (result: Result | PromiseLike<Result>) => void;
  readonly failed: (error: unknown) => void;
}

interface Kind<Item, Result> {
  readonly waiting: Waiting<Item, Result>[];
  underWay: number;
}

/** Natural batching: an item is carried out at once; those of its kind that arrive meanwhile, by the next step together. */
export class Batches<Item, Result> {
  private readonly kinds = new Map<string, Kind<Item, Result>>();
  private readonly runs = new Set<Promise<void>>();
  private readonly draining = new AbortController();

  /** @param carryOut returns the results of a step in order; a rejected promise is the error of its item */
  constructor(
    private readonly carryOut: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>,
    private readonly options: BatchOptions<Item> = {},
  ) {}

  /**
   * Resolves when the item has been carried out.
   *
   * @param key of the kind of the item. @default one kind for all
   * @throws the error of its step, and DatabaseTooSlowError if its step does not begin in time
   */
  add(item: Item, key = ''): Promise<Result> {
    const kind = this.kinds.get(key) ?? { waiting: [], underWay: 0 };
    this.kinds.set(key, kind);
    return new Promise((done, failed) => {
      kind.waiting.push({ item, since: performance.now(), done, failed });
      if (kind.underWay >= (this.options.atOnce ?? 1)) return;
      const run = this.run(key, kind).finally(() => this.runs.delete(run));
      this.runs.add(run);
    });
  }

  /** Carries out the waiting items at once. From then on, no step waits for more. */
  async drain(): Promise<void> {
    this.draining.abort();
    await Promise.all(this.runs);
  }

  private async run(key: string, kind: Kind<Item, Result>): Promise<void> {
    const { beforeStep, lingerMs = 0, pausesBetweenSteps } = this.options;
    const { waiting } = kind;
    kind.underWay += 1;
    // Items added in the same tick belong to one step.
    await Promise.resolve();
    while (waiting.length > 0) {
      if (lingerMs > 0) await pause(lingerMs, this.draining.signal);
      if (beforeStep) await beforeStep();
      const begun = performance.now();
      await this.step(waiting.splice(0, this.sizeOfStep(waiting)));
      if (pausesBetweenSteps && waiting.length > 0)
        await pause(performance.now() - begun, this.draining.signal);
    }
    kind.underWay -= 1;
    // Keys come from requests, so a key that nobody waits for is removed.
    if (kind.underWay === 0) this.kinds.delete(key);
  }

  private sizeOfStep(waiting: readonly Waiting<Item, Result>[]): number {
    const { max = Infinity, weight } = this.options;
    let total = 0;
    const end = waiting.findIndex(({ item }, i) => {
      total += weight?.of(item) ?? 0;
      return i === max || (i > 0 && weight !== undefined && total > weight.max);
    });
    return end === -1 ? waiting.length : end;
  }

  private async step(taken: readonly Waiting<Item, Result>[]): Promise<void> {
    const oldest = performance.now() - (this.options.patienceMs ?? Infinity);
    const batch = taken.filter(({ since }) => since > oldest);
    for (const { since, failed } of taken) if (since <= oldest) failed(new DatabaseTooSlowError());
    if (batch.length === 0) return;
    this.options.onStep?.(batch.length);
    try {
      const results = await this.carryOut(batch.map(({ item }) => item));
      for (const [i, { done }] of batch.entries()) done(results[i] as Result);
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}

/** A function whose callers share what is under way: unlike {@link singleFlight}, also if it has begun before they ask. */
export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let underWay: Promise<Result> | undefined;
  return () => (underWay ??= work().finally(() => (underWay = undefined)));
}

/** Carries out equal work once for all who have asked for it when it begins. They share the result. */
export function singleFlight<Result>(options?: BatchOptions): Batches<() => Promise<Result>, Result> {
  return new Batches<() => Promise<Result>, Result>(async ([first, ...others]) => {
    const result = await (first as () => Promise<Result>)();
    return [result, ...others.map(() => result)];
  }, options);
}
