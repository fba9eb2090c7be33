import { CommandError } from '../errors.js';
import type { Collection, StoredDocument, Witness } from '../storage/collection.js';

/** Most memory that documents changed under one sort may take. Unit: bytes. */
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

  constructor(private readonly collection: Collection) {
    collection.witnesses.add(this);
  }

  /** Notes that a document has been read; the result is its place among all that were. */
  add(): number {
    return this.read++;
  }

  changing({ record, bytes }: StoredDocument): void {
    this.bytes += bytes.length;
    if (this.bytes > maxBytes) {
      this.changed.clear();
      return;
    }
    const versions = this.changed.get(record) ?? [];
    versions.push({ readBefore: this.read, bytes });
    this.changed.set(record, versions);
  }

  /**
   * The document that was read as the one at `place`.
   *
   * @throws CommandError QueryExceededMemoryLimitNoDiskUseAllowed (292) when others have changed more than is remembered
   */
  get(record: number, place: number): Buffer | undefined {
    if (this.bytes > maxBytes) {
      throw new CommandError(
        292,
        'QueryExceededMemoryLimitNoDiskUseAllowed',
        `More than ${maxBytes} bytes of documents were changed while this sort was read; read it faster, or create an index that delivers the order.`,
      );
    }
    const version = this.changed.get(record)?.find(({ readBefore }) => readBefore > place);
    return version?.bytes ?? this.collection.get(record);
  }

  /** Ends the watch over the collection. */
  release(): void {
    this.collection.witnesses.delete(this);
  }
}
