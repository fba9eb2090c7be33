import { rmSync } from 'node:fs';
import { type Database, open, type RootDatabase } from 'lmdb';

/** Which keys of the store to walk, from `low` (included) to `high` (excluded). */
export interface KeyRange {
  low: Buffer;
  high: Buffer;
}

/** A key with its value. */
export interface Entry {
  key: Buffer;
  value: Buffer;
}

/** Most work that one transaction takes in before it commits. Unit: milliseconds. */
const transactionBudgetMs = 50;

/**
 * An ordered map from bytes to bytes in one LMDB environment, with one writer.
 *
 * Reads see what is committed, and inside {@link Store.write} also what the transaction has written so far.
 */
export class Store {
  private queue: Job[] = [];
  private running = false;
  private readonly root: RootDatabase<Buffer, Buffer>;
  private readonly data: Database<Buffer, Buffer>;
  /** Called in the transaction when all its jobs are done, so that counters are written once. */
  beforeCommit: () => void = () => undefined;
  /** Called when a transaction was rolled back: whatever is cached may be ahead of the store. */
  afterAbort: () => void = () => undefined;

  private constructor(
    path: string,
    private readonly temporary: boolean,
  ) {
    const encoding = { encoding: 'binary', keyEncoding: 'binary' } as const;
    // Memory mode has nothing to survive: it leaves out every flush to disk.
    const durability = temporary ? { noSync: true, overlappingSync: false } : { separateFlushed: true };
    this.root = open<Buffer, Buffer>({ path, ...encoding, ...durability, maxDbs: 4 });
    this.data = this.root.openDB({ name: 'data', ...encoding });
    this.path = path;
  }

  /** Where the files are. */
  readonly path: string;

  /** Opens the store in `dir`, which is created when it is missing; a temporary one is gone when it is closed. */
  static open(dir: string, temporary = false): Store {
    return new Store(dir, temporary);
  }

  /** The value of a key. */
  get(key: Buffer): Buffer | undefined {
    return this.data.get(key);
  }

  /** Whether a key exists. */
  has(key: Buffer): boolean {
    return this.data.getBinaryFast(key) !== undefined;
  }

  /** Sets a key; only inside {@link Store.write}. */
  put(key: Buffer, value: Uint8Array): void {
    this.data.putSync(key, value as Buffer);
  }

  /** Removes a key; only inside {@link Store.write}. */
  remove(key: Buffer): void {
    this.data.removeSync(key);
  }

  /** Number of keys in a range, at most `limit` when given; no value is read. */
  count({ low, high }: KeyRange, limit?: number): number {
    if (limit === undefined) return this.data.getKeysCount({ start: low, end: high });
    let count = 0;
    for (const _ of this.data.getKeys({ start: low, end: high, limit })) count++;
    return count;
  }

  /** Walks a range; see {@link StoreCursor}. */
  walk(range: KeyRange, reverse = false, values = true): StoreCursor {
    return new StoreCursor(this.data, range, reverse, values);
  }

  /** The last entry of a range. */
  last(range: KeyRange): Entry | undefined {
    const cursor = this.walk(range, true);
    const entry = cursor.next();
    cursor.release();
    return entry;
  }

  /**
   * Runs `job` in a transaction, together with all others that wait, and resolves once it is committed: then the data
   * survives the end of the process. {@link Store.flushed} waits until it survives the end of the machine, too.
   *
   * A job must check before it writes: what it throws is its caller's alone, and does not undo what it wrote.
   */
  write<T>(job: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.queue.push({ run: job as () => unknown, resolve: resolve as (value: unknown) => void, reject });
      if (this.running) return;
      this.running = true;
      // lmdb begins the transaction in a later turn of the event loop: all requests until then share it.
      void this.drain();
    });
  }

  /** Resolves when all that is committed is on the disk; at once in memory mode, which has nothing to survive. */
  async flushed(): Promise<void> {
    if (!this.temporary) await this.root.flushed;
  }

  /** Closes the store after all writes are done. */
  async close(): Promise<void> {
    while (this.running) await new Promise((resolve) => setImmediate(resolve));
    await this.root.close();
    if (this.temporary) rmSync(this.path, { recursive: true, force: true });
  }

  private async drain(): Promise<void> {
    while (this.queue.length > 0) {
      const done: Outcome[] = [];
      try {
        await this.transact(() => this.runJobs(done));
        for (const { job, result } of done) job.resolve(result);
      } catch (error) {
        this.afterAbort();
        for (const { job } of done) job.reject(error);
      }
    }
    this.running = false;
  }

  private async transact(body: () => void): Promise<void> {
    if (this.temporary) this.root.transactionSync(body);
    // A child transaction, since only that can be rolled back.
    else await this.root.childTransaction(body);
  }

  private runJobs(done: Outcome[]): void {
    const deadline = performance.now() + transactionBudgetMs;
    for (
      let job = this.queue.shift();
      job;
      job = performance.now() < deadline ? this.queue.shift() : undefined
    ) {
      try {
        done.push({ job, result: job.run() });
      } catch (error) {
        job.reject(error);
      }
    }
    this.beforeCommit();
  }
}

interface Job {
  run(): unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Outcome {
  job: Job;
  result: unknown;
}

/**
 * A walk over a range that can be interrupted: {@link StoreCursor.release} lets go of LMDB's snapshot, and the next step goes
 * on behind the last key seen. A walk that pauses therefore never keeps the store from reusing space.
 */
export class StoreCursor {
  private iterator: Iterator<Entry | Buffer> | undefined;
  private last: Buffer | undefined;

  constructor(
    private readonly data: Database<Buffer, Buffer>,
    private readonly range: KeyRange,
    private readonly reverse: boolean,
    private readonly values: boolean,
  ) {}

  /** The next entry, with an empty value when the walk is over keys alone. */
  next(): Entry | undefined {
    this.iterator ??= this.reposition();
    const step = this.iterator.next();
    if (step.done) return undefined;
    const entry = Buffer.isBuffer(step.value) ? { key: step.value, value: empty } : step.value;
    this.last = entry.key;
    return entry;
  }

  /** Lets go of the snapshot until the next step. */
  release(): void {
    this.iterator?.return?.();
    this.iterator = undefined;
  }

  private reposition(): Iterator<Entry | Buffer> {
    const { low, high } = this.range;
    const options = this.reverse
      ? { start: this.last ?? high, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
      : { start: this.last ?? low, end: high, exclusiveStart: this.last !== undefined };
    const walk = this.values ? this.data.getRange(options) : this.data.getKeys(options);
    return (walk as Iterable<Entry | Buffer>)[Symbol.iterator]();
  }
}

const empty = Buffer.alloc(0);
