import type { HydratedDocument, Model } from 'mongoose';
import { CALL_DEADLINE_MS, OPERATION_LIMITS } from '../../database/index.js';
import { causeOf, refusedBy } from './bulk-errors.js';

/** Maximum number of records that one command stores. Unit: records. */
const MAX_BATCH = 1_000;

/** Maximum number of words to index by one command that stores several records. Unit: words. */
const MAX_BATCH_WORDS = 20_000;

export type Fields = Record<string, unknown>;

/** The timestamps that Mongoose gives a document that it inserts itself. */
interface WithTimestamps {
  initializeTimestamps?(): unknown;
}

/** Makes the record to store, right before its command. @throws the errors of the schema */
export type MakeRecord = () => Fields | Promise<Fields>;

/** A record to store. */
interface NewRecord {
  readonly make: MakeRecord;
  /** Number of its words to index. */
  readonly words: number;
}

/** A record that waits for its command. */
interface Waiting extends NewRecord {
  readonly since: number;
  readonly stored: (record: Fields) => void;
  readonly failed: (error: unknown) => void;
}

/** A record that is part of the next command. */
interface Ready {
  readonly record: Fields;
  readonly stored: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Stores records that arrive while a command is in flight with the next command. If none is in flight, a
 * record is stored at once, so that a single record never waits. Each has its own outcome, and they are
 * stored in the order of arrival.
 */
export class GatheredInserts {
  private waiting: Waiting[] = [];
  private isSending = false;

  /** @param counted receives the number of records that each command stores */
  constructor(
    private readonly model: Model<Fields>,
    private readonly counted: (size: number) => void,
  ) {}

  /**
   * Stores a new record and returns it as stored.
   *
   * @throws the errors of its document's `save()`
   */
  insert(record: NewRecord): Promise<Fields> {
    return new Promise((stored, failed) => {
      this.waiting.push({ ...record, since: performance.now(), stored, failed });
      if (!this.isSending) void this.send();
    });
  }

  private async send(): Promise<void> {
    this.isSending = true;
    for (let batch = this.next(); batch.length > 0; batch = this.next()) {
      const ready = (await Promise.all(batch.map(prepare))).filter((one) => one !== undefined);
      if (ready.length > 0) await this.store(ready);
    }
    this.isSending = false;
  }

  /**
   * The records of the next command, without those whose callers have already been told that the database is
   * too slow.
   */
  private next(): Waiting[] {
    const oldest = performance.now() - CALL_DEADLINE_MS;
    const batch: Waiting[] = [];
    let [taken, words] = [0, 0];
    for (const one of this.waiting) {
      words += one.words;
      if (batch.length === MAX_BATCH || (batch.length > 0 && words > MAX_BATCH_WORDS)) break;
      taken += 1;
      if (one.since > oldest) batch.push(one);
    }
    this.waiting.splice(0, taken);
    return batch;
  }

  private async store(batch: readonly Ready[]): Promise<void> {
    const [first] = batch;
    this.counted(batch.length);
    if (first && batch.length === 1) return this.storeAlone(first);
    try {
      const records = batch.map(({ record }) => record);
      await this.model.collection.insertMany(records, { ...OPERATION_LIMITS, ordered: false });
      for (const { stored } of batch) stored();
    } catch (error) {
      const refused = refusedBy(error);
      const tell = (one: Ready, i: number) => {
        if (!refused) return one.failed(causeOf(error));
        // The driver omits which index a duplicate violates. For a single record, it says so.
        return refused.has(i) ? this.storeAlone(one) : one.stored();
      };
      await Promise.all(batch.map(tell));
    }
  }

  private async storeAlone({ record, stored, failed }: Ready): Promise<void> {
    await this.model.collection.insertOne(record, { ...OPERATION_LIMITS }).then(stored, failed);
  }
}

/** Makes the record of a waiting caller; undefined if it is rejected, which its caller has then been told. */
async function prepare(waiting: Waiting): Promise<Ready | undefined> {
  try {
    const record = await waiting.make();
    return { record, stored: () => waiting.stored(record), failed: waiting.failed };
  } catch (error) {
    waiting.failed(error);
    return undefined;
  }
}

/** Makes the record of a document, which it validates as `save()` would. */
export function recordOfDocument(document: HydratedDocument<Fields>): MakeRecord {
  return async () => {
    await document.validate();
    return recordOf(document);
  };
}

/** The record of a document as `save()` would store it, with its timestamps and revision. */
function recordOf(document: HydratedDocument<Fields> & WithTimestamps): Fields {
  document.initializeTimestamps?.();
  document.set('__v', 0);
  return document.toObject(AS_STORED);
}

/** Everything in the store's types, without what the schema computes for readers. */
const AS_STORED = {
  transform: false,
  virtuals: false,
  getters: false,
  depopulate: true,
  flattenDecimals: false,
  useProjection: false,
  flattenMaps: false,
} as const;
