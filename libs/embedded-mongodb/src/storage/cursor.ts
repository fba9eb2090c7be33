import type { Database } from 'lmdb';

/** The keys of the store to walk, from `low` (included) to `high` (excluded). */
export interface KeyRange {
  low: Buffer;
  high: Buffer;
}

/** A key with its value. */
export interface Entry {
  key: Buffer;
  value: Buffer;
}

/**
 * A walk over a range that can be interrupted: {@link StoreCursor.release} releases LMDB's cursor, and the
 * next step continues after the last key.
 */
export class StoreCursor {
  private iterator: Iterator<Entry | Buffer> | undefined;
  private last: Buffer | undefined;

  /** @param open Lists the cursor while it holds one of LMDB's, which must not outlive its transaction. */
  constructor(
    private readonly data: Database<Buffer, Buffer>,
    private readonly range: KeyRange,
    private readonly reverse: boolean,
    private readonly values: boolean,
    private readonly open: Set<StoreCursor>,
  ) {}

  /** The next entry, with an empty value if the walk covers keys only. */
  next(): Entry | undefined {
    this.iterator ??= this.reposition();
    const step = this.iterator.next();
    if (step.done) {
      this.open.delete(this);
      return undefined;
    }
    const entry = Buffer.isBuffer(step.value) ? { key: step.value, value: empty } : step.value;
    this.last = entry.key;
    return entry;
  }

  /** Releases LMDB's cursor until the next step. */
  release(): void {
    this.iterator?.return?.();
    this.iterator = undefined;
    this.open.delete(this);
  }

  private reposition(): Iterator<Entry | Buffer> {
    const { low, high } = this.range;
    const options = this.reverse
      ? { start: this.last ?? high, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
      : { start: this.last ?? low, end: high, exclusiveStart: this.last !== undefined };
    const walk = this.values ? this.data.getRange(options) : this.data.getKeys(options);
    this.open.add(this);
    return (walk as Iterable<Entry | Buffer>)[Symbol.iterator]();
  }
}

const empty = Buffer.alloc(0);
