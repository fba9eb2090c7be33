import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Database, open, type RootDatabase } from 'lmdb';
import { failure } from '../errors.js';
import { type Entry, type KeyRange, StoreCursor } from './cursor.js';
import { checkDataFile, recordDataFile } from './data-file.js';
import { Journal } from './journal.js';
import { checkRoom, explained } from './no-room.js';
import { HeldTransaction } from './transaction.js';

export type { Entry, KeyRange, StoreCursor } from './cursor.js';

/** Maximum duration of jobs that are acknowledged together. Unit: milliseconds. */
const groupBudgetMs = 50;

/** Size of the changes that are acknowledged together, not counting the last one of a job. */
const groupBytes = 4 << 20;

/** Size of the changes that may be held back, since they are in memory. Unit: bytes. */
const heldBytes = 64 << 20;

/**
 * Size of the changes that go from the journal to LMDB at once. Limits the start after a crash, and memory
 * until then.
 */
const checkpointBytes = 4 << 20;
const checkpointChanges = 4_096;

/**
 * An ordered map from bytes to bytes with one writer: an LMDB environment behind a write-ahead log.
 *
 * One LMDB transaction is always open. Jobs write into it, and everything is read from it. Changes are in the
 * {@link Journal} before they are acknowledged, and in LMDB's own file from the next checkpoint on. A start
 * therefore begins with the last checkpoint, which LMDB keeps intact whatever happens, and applies the
 * changes in the journal.
 */
export class Store {
  private queue: Job[] = [];
  private running = false;
  private readonly root: RootDatabase<Buffer, Buffer>;
  private readonly data: Database<Buffer, Buffer>;
  private readonly state: Database<Buffer, Buffer>;
  private readonly journal: Journal;
  private transaction: HeldTransaction | undefined;
  private readonly cursors = new Set<StoreCursor>();
  private closed = false;
  /** Whether changes are held back: in LMDB's transaction, but not in the journal. */
  private held = false;
  /** Since the last checkpoint. */
  private changes = 0;
  private failedCheckpoints = 0;
  /** Why the open transaction cannot continue. */
  private broken: Error | undefined;
  /** Called when all jobs of a group are done, so that counters are written once. */
  beforeCommit: () => void = () => undefined;
  /** Called when a group was rolled back: cached data may be ahead of the store. */
  afterAbort: () => void = () => undefined;

  private constructor(
    private readonly path: string,
    private readonly temporary: boolean,
  ) {
    const encoding = { encoding: 'binary', keyEncoding: 'binary' } as const;
    checkDataFile(join(path, 'data.mdb'), join(path, 'journal'));
    checkRoom(path);
    // Memory mode has nothing to preserve, so it omits every flush to disk.
    this.root = open<Buffer, Buffer>({
      path,
      ...encoding,
      noSync: temporary,
      overlappingSync: false,
      maxDbs: 4,
    });
    this.data = this.root.openDB({ name: 'data', ...encoding });
    this.state = this.root.openDB({ name: 'journal', ...encoding });
    this.journal = new Journal(join(path, 'journal'), join(path, 'data.mdb'), temporary);
    // Before any other exit listener: a thread can only end once LMDB's lock of the transaction is free.
    process.prependOnceListener('exit', this.leave);
    try {
      this.begin();
      this.checkpoint(this.journal.isNew);
    } catch (error) {
      process.off('exit', this.leave);
      this.leave();
      void this.root.close();
      throw explained(error);
    }
  }

  /**
   * Opens the store in `dir`, which is created if it is missing; a temporary store is removed when it is
   * closed.
   */
  static open(dir: string, temporary = false): Store {
    return new Store(dir, temporary);
  }

  /** The value of a key. */
  get(key: Buffer): Buffer | undefined {
    return this.data.get(key);
  }

  /** Sets a key; only inside {@link Store.write}. */
  put(key: Buffer, value: Uint8Array): void {
    this.change(key, value);
    this.journal.add(key, value);
  }

  /** Removes a key; only inside {@link Store.write}. */
  remove(key: Buffer): void {
    this.change(key, undefined);
    this.journal.add(key, undefined);
  }

  /** Number of keys in a range, at most `limit` if given; does not read values. */
  count({ low, high }: KeyRange, limit?: number): number {
    if (limit === undefined) return this.data.getKeysCount({ start: low, end: high });
    let count = 0;
    for (const _ of this.data.getKeys({ start: low, end: high, limit })) count++;
    return count;
  }

  /** Walks a range; see {@link StoreCursor}. */
  walk(range: KeyRange, reverse = false, values = true): StoreCursor {
    return new StoreCursor(this.data, range, reverse, values, this.cursors);
  }

  /** The last entry of a range. */
  last(range: KeyRange): Entry | undefined {
    const cursor = this.walk(range, true);
    const entry = cursor.next();
    cursor.release();
    return entry;
  }

  /**
   * Runs `job` together with all other waiting jobs, and resolves once their changes are in the journal: then
   * they survive the end of the process. {@link Store.flushed} waits until they also survive a crash of the
   * machine.
   *
   * A job must check before it writes: its exception concerns its caller only, and does not undo its writes.
   * A job with many writes must be split into several; see {@link Store.hasRoom}.
   */
  write<T>(job: () => T): Promise<T> {
    if (this.closed) return Promise.reject(closing());
    return new Promise<T>((resolve, reject) => {
      this.queue.push({ run: job as () => unknown, resolve: resolve as (value: unknown) => void, reject });
      if (this.running) return;
      this.running = true;
      void this.drain();
    });
  }

  /**
   * Whether a job may continue to write. The changes of one job must stay small, since all of them are held
   * in memory.
   *
   * @throws CommandError TransactionTooLarge (257) if too much is held back
   */
  get hasRoom(): boolean {
    const { pending } = this.journal;
    if (!this.held) return pending < groupBytes;
    if (pending < heldBytes) return true;
    throw failure('TransactionTooLarge', `A transaction may change at most ${heldBytes} bytes.`);
  }

  /**
   * Holds changes back from here on. They are read at once, but survive the end of the process only after
   * {@link Store.release}, which stores all of them as one.
   */
  hold(): void {
    this.held = true;
  }

  /** Stores what was held back. If that fails, it is undone. */
  release(): Promise<void> {
    return this.write(() => void (this.held = false));
  }

  /** Undoes what was held back. */
  undo(): void {
    if (this.held) this.rollBack();
  }

  /** @throws CommandError InterruptedAtShutdown (11600): nothing can be read any more */
  checkOpen(): void {
    if (this.closed) throw closing();
  }

  /**
   * Resolves when everything acknowledged is on disk; at once in memory mode, which has nothing to preserve.
   */
  async flushed(): Promise<void> {
    await this.journal.flush();
  }

  /** Closes the store after all writes are done. */
  async close(): Promise<void> {
    while (this.running) await nextTurn();
    this.undo();
    this.closed = true;
    this.checkpoint();
    process.off('exit', this.leave);
    this.leave();
    await this.journal.close();
    await this.root.close();
    if (this.temporary) rmSync(this.path, { recursive: true, force: true });
  }

  private async drain(): Promise<void> {
    while (this.queue.length > 0) {
      // Requests that arrive in the same turn of the event loop share a group, and those that only read get
      // their turn.
      await nextTurn();
      this.runGroup();
    }
    this.running = false;
  }

  private runGroup(): void {
    const done: Outcome[] = [];
    try {
      this.runJobs(done);
      if (!this.held) this.journal.append();
    } catch (error) {
      this.rollBack();
      const reason = explained(error);
      for (const { job } of done) job.reject(reason);
      return;
    }
    for (const { job, result } of done) job.resolve(result);
    if (this.held) return;
    const patience = 1 + this.failedCheckpoints;
    if (this.journal.length >= checkpointBytes * patience || this.changes >= checkpointChanges * patience) {
      this.checkpoint();
    }
  }

  private runJobs(done: Outcome[]): void {
    const deadline = performance.now() + groupBudgetMs;
    do {
      const job = this.queue.shift() as Job;
      try {
        done.push({ job, result: job.run() });
      } catch (error) {
        job.reject(error);
      }
    } while (this.queue.length > 0 && this.hasRoom && performance.now() < deadline);
    this.beforeCommit();
    if (this.broken) throw this.broken;
  }

  private change(key: Buffer, value: Uint8Array | undefined): void {
    this.changes++;
    try {
      if (value) this.data.putSync(key, value as Buffer);
      else this.data.removeSync(key);
    } catch (error) {
      this.broken = error as Error;
      throw error;
    }
  }

  /** Opens a transaction that contains the last checkpoint and everything in the journal. */
  private begin(): void {
    this.transaction = new HeldTransaction(this.root);
    this.changes = 0;
    this.broken = undefined;
    this.journal.replay(this.state, (key, value) => this.change(key, value));
  }

  /**
   * Commits the open transaction: the contents of the journal are then also in LMDB's file, and the journal
   * is empty.
   */
  private commit(): void {
    this.journal.prepareRestart(this.state);
    this.endTransaction((transaction) => transaction.commit());
    this.journal.restart();
    if (!this.temporary) recordDataFile(join(this.path, 'data.mdb'));
    this.failedCheckpoints = 0;
  }

  /** @throws Error of LMDB if the checkpoint is essential */
  private checkpoint(essential = false): void {
    try {
      this.commit();
      this.begin();
    } catch (error) {
      if (essential) throw error;
      // Most likely the disk is full. Nothing is lost, since the journal continues; the next checkpoint comes
      // later.
      this.failedCheckpoints++;
      this.rollBack();
    }
  }

  /** Undoes changes that are not in the journal. */
  private rollBack(): void {
    this.held = false;
    this.endTransaction((transaction) => transaction.abort());
    this.begin();
    this.afterAbort();
  }

  /** Ends the transaction without a checkpoint; its changes are in the journal. */
  private readonly leave = (): void => this.endTransaction((transaction) => transaction.abort());

  private endTransaction(end: (transaction: HeldTransaction) => void): void {
    for (const cursor of this.cursors) cursor.release();
    const { transaction } = this;
    this.transaction = undefined;
    if (transaction) end(transaction);
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

function closing(): Error {
  return failure('InterruptedAtShutdown', 'The store is closed.');
}
