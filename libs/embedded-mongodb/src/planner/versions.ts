import { CommandError } from '../errors.js';
import type { Collection, StoredDocument, Witness } from '../catalog/collection.js';

/** As much as MongoDB sorts without the disk. */
const maxBytes = 100 * 1024 * 1024;

/** A document as it was before a change, and how many had been read by then. */
interface Version {
  readBefore: number;
  bytes: Buffer;
}

/**
 * The documents of a sort as they were when it read them, although it reads them again later on: whoever changes or removes one
 * leaves the version before the change here. A sort thus costs the memory of what is changed meanwhile, not of all it read.
 */
export class Versions implements Witness {
  private readonly changed = new Map<number, Version[]>();
  private read = 0;
  private bytes = 0;
  private overflown = false;
  /** The records that are still to be given; undefined as long as more are being read. */
  private pending: Set<number> | undefined;

  /** @param limit Most memory that documents changed meanwhile may take. Unit: bytes. */
  constructor(
    private readonly collection: Collection,
    private readonly limit = maxBytes,
  ) {
    collection.witnesses.add(this);
  }

  /** Notes that a document has been read; the result is its place among all that were. */
  add(): number {
    return this.read++;
  }

  /** Ends the reading: from now on only these records count. */
  settle(records: Iterable<number>): void {
    this.pending = new Set(records);
    for (const record of this.changed.keys()) if (!this.pending.has(record)) this.forget(record);
  }

  changing({ record, bytes }: StoredDocument): void {
    if (this.overflown || this.pending?.has(record) === false) return;
    const versions = this.changed.get(record) ?? [];
    // Once all is read, the version that was read is the one before the first change.
    if (this.pending && versions.some(({ readBefore }) => readBefore === this.read)) return;
    versions.push({ readBefore: this.read, bytes });
    this.changed.set(record, versions);
    this.bytes += bytes.length;
    if (this.bytes <= this.limit) return;
    this.overflown = true;
    this.changed.clear();
  }

  /**
   * The document that was read as the one at `place`; it can be taken once.
   *
   * @throws CommandError QueryExceededMemoryLimitNoDiskUseAllowed (292) when others have changed more than is remembered
   */
  take(record: number, place: number): Buffer | undefined {
    if (this.overflown) {
      throw new CommandError(
        292,
        'QueryExceededMemoryLimitNoDiskUseAllowed',
        `More than ${this.limit} bytes of documents were changed while this sort was read; read it faster, or create an index that delivers the order.`,
      );
    }
    const version = this.changed.get(record)?.find(({ readBefore }) => readBefore > place);
    this.pending?.delete(record);
    this.forget(record);
    return version?.bytes ?? this.collection.get(record);
  }

  /** Ends the watch over the collection. */
  release(): void {
    this.collection.witnesses.delete(this);
  }

  private forget(record: number): void {
    for (const { bytes } of this.changed.get(record) ?? []) this.bytes -= bytes.length;
    this.changed.delete(record);
  }
}
