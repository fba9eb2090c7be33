import { randomInt } from 'node:crypto';
import { Long } from 'bson';
import { badValue, failure } from '../errors.js';
import { RawArray, type Reply, replyOf } from '../wire/reply.js';
import type { Pausable, Pauses } from './pauses.js';

/** How long an unused cursor is kept. Unit: milliseconds. */
const idleMs = 10 * 60_000;
/**
 * Maximum size of one batch: that of a document, so that any reply holds at least one document. Unit: bytes.
 */
const maxBatchBytes = 16 * 1024 * 1024;
/**
 * Maximum size of a returned document: that of a stored one, with room for additions by a pipeline. Unit:
 * bytes.
 */
const maxResultBytes = maxBatchBytes + 16 * 1024;
/** Number of documents in a first batch if the client gives no size. */
export const defaultBatch = 101;

/** Documents one after another, with `undefined` as an opportunity to pause. */
export type Results = Iterator<Uint8Array | undefined>;

/** A query whose results are fetched in batches. */
export class Cursor {
  usedAt = Date.now();
  private waiting: Uint8Array | undefined;
  private readonly results: Results;

  constructor(
    readonly namespace: string,
    results: Iterable<Uint8Array | undefined>,
    private readonly scan: Pausable & { end(): void },
    /** Number of documents after which the cursor is known to be done. */
    private left = Infinity,
  ) {
    this.results = results[Symbol.iterator]();
  }

  /**
   * The next documents; fewer than requested only if they would be too many bytes, or were the last.
   *
   * @throws CommandError QueryPlanKilled (175) if the collection or an index in use was dropped since the
   * last batch
   */
  async batch(size: number, pauses: Pauses): Promise<{ documents: Uint8Array[]; done: boolean }> {
    const documents: Uint8Array[] = [];
    let bytes = 0;
    let done = false;
    this.scan.resume();
    while (documents.length < size) {
      const next = this.waiting ?? (await this.next(pauses));
      this.waiting = undefined;
      if (!next) {
        done = true;
        break;
      }
      if (next.length > maxResultBytes) throw tooLarge(next.length);
      if (documents.length > 0 && bytes + next.length > maxBatchBytes) {
        this.waiting = next;
        break;
      }
      documents.push(next);
      bytes += next.length;
      if (--this.left === 0) {
        done = true;
        break;
      }
    }
    this.scan.release();
    this.usedAt = Date.now();
    return { documents, done };
  }

  close(): void {
    this.results.return?.();
    this.scan.end();
  }

  private async next(pauses: Pauses): Promise<Uint8Array | undefined> {
    for (;;) {
      const step = this.results.next();
      if (step.done) return undefined;
      if (step.value) return step.value;
      await pauses.breathe(this.scan);
    }
  }
}

/** The open cursors of all connections. */
export class Cursors {
  private readonly open = new Map<bigint, Cursor>();

  /** Answers a first batch, and keeps the cursor if there is more to come. */
  async first(cursor: Cursor, size: number, single: boolean, pauses: Pauses): Promise<Reply> {
    try {
      const { documents, done } = await cursor.batch(size, pauses);
      const id = done || single ? 0n : this.keep(cursor);
      if (id === 0n) cursor.close();
      return cursorReply('firstBatch', documents, id, cursor.namespace);
    } catch (error) {
      cursor.close();
      throw error;
    }
  }

  /** @throws CommandError CursorNotFound (43) */
  async more(id: bigint, namespace: string, size: number, pauses: Pauses): Promise<Reply> {
    const cursor = this.open.get(id);
    if (!cursor) throw failure('CursorNotFound', `cursor id ${id} not found`);
    if (cursor.namespace !== namespace) {
      throw badValue(
        `Requested getMore on namespace '${namespace}', but cursor belongs to a different namespace ${cursor.namespace}`,
      );
    }
    // Removed from the table while it runs, so that nobody else uses or closes it.
    this.open.delete(id);
    try {
      const { documents, done } = await cursor.batch(size, pauses);
      if (done) cursor.close();
      else this.open.set(id, cursor);
      return cursorReply('nextBatch', documents, done ? 0n : id, namespace);
    } catch (error) {
      cursor.close();
      throw error;
    }
  }

  /** Closes a cursor; returns false if there is none. */
  kill(id: bigint): boolean {
    this.open.get(id)?.close();
    return this.open.delete(id);
  }

  /** Closes cursors that have been unused for long. */
  closeIdle(): void {
    for (const [id, cursor] of this.open) if (Date.now() - cursor.usedAt > idleMs) this.kill(id);
  }

  get count(): number {
    return this.open.size;
  }

  private keep(cursor: Cursor): bigint {
    const id = BigInt(randomInt(1, 2 ** 48 - 1)) * 0x8000n + BigInt(randomInt(1, 0x7fff));
    this.open.set(id, cursor);
    return id;
  }
}

/** The error for a returned document that is larger than allowed. */
function tooLarge(length: number): Error {
  return failure(
    'BSONObjectTooLarge',
    `BSONObj size: ${length} is invalid. Size must be between 0 and ${maxResultBytes}(16MB)`,
  );
}

/** The reply of a command that returns a cursor. */
export function cursorReply(
  name: 'firstBatch' | 'nextBatch',
  documents: readonly Uint8Array[],
  id: bigint,
  namespace: string,
): Reply {
  return replyOf({ cursor: { [name]: new RawArray(documents), id: Long.fromBigInt(id), ns: namespace } });
}
