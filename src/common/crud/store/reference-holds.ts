import { type Fields, HOLDS, type StoreFilter } from '../schema/store-types.js';
import { type Model, Types } from 'mongoose';
import { Batches, type Database } from '../../database/index.js';
import { exactly } from './shared-reads.js';

/** How long a hold of a process that has ended lasts, so that clocks may differ by seconds. Unit: milliseconds. */
const HOLD_MS = 30_000;

/** Maximum number of writes that share a hold. Unit: writes. */
const MAX_BATCH = 100;

interface StoredHolds {
  readonly count: number;
  readonly by: readonly { readonly _id: Types.ObjectId; readonly until: Date }[];
}

/** Records that cannot be deleted until it is released. */
export interface Hold {
  /** Identifiers of the records that exist. */
  readonly held: ReadonlySet<string>;
  /** Never throws: a hold that cannot be released ends by itself. */
  release(): Promise<void>;
}

/**
 * Carries out a write that sets values. The write calls `hold` right before its command, so that the records that the
 * values refer to are there until it has ended.
 */
export type Holding = <T>(values: object, write: (hold: () => Promise<void>) => Promise<T>) => Promise<T>;

/**
 * Where writes that refer to a record meet its deletion, without a transaction: a write holds the record before it is
 * stored, and a deletion removes it only if nothing has held it since the deletion looked for referrers. Writes that
 * arrive at the same time share a hold.
 */
export class ReferenceHolds {
  private readonly batches = new Batches<readonly Types.ObjectId[], Hold>((batch) => this.hold(batch), {
    max: MAX_BATCH,
  });

  constructor(
    private readonly model: Model<Fields>,
    private readonly database: Database,
  ) {}

  /** Holds those of the records that exist. */
  take(ids: readonly Types.ObjectId[]): Promise<Hold> {
    return this.batches.add(ids);
  }

  /** The condition that nobody holds the record later than now; undefined if somebody does already. */
  async unheld(_id: Types.ObjectId): Promise<StoreFilter | undefined> {
    const options = { ...this.database.limits, projection: { [HOLDS]: 1 } };
    const record = await this.database.call(() => this.model.collection.findOne({ _id }, options));
    const { count = null, by = [] } = (record?.[HOLDS] ?? {}) as Partial<StoredHolds>;
    const now = new Date();
    return by.some(({ until }) => until > now) ? undefined : exactly({ [`${HOLDS}.count`]: count });
  }

  private async hold(batch: readonly (readonly Types.ObjectId[])[]): Promise<Hold[]> {
    const ids = [...new Map(batch.flat().map((id) => [id.toHexString(), id])).values()];
    const hold = { _id: new Types.ObjectId(), until: new Date(Date.now() + HOLD_MS) };
    const update = { $inc: { [`${HOLDS}.count`]: 1 }, $push: { [`${HOLDS}.by`]: hold } };
    const { matchedCount } = await this.update(ids, update);
    const found = matchedCount === ids.length ? ids : await this.heldBy(ids, hold._id);
    let writes = batch.length;
    const release = async () => {
      writes -= 1;
      if (writes === 0) await this.release(found, hold._id);
    };
    return batch.map(() => ({ held: new Set(found.map(String)), release }));
  }

  private async heldBy(ids: readonly Types.ObjectId[], hold: Types.ObjectId): Promise<Types.ObjectId[]> {
    const filter = { _id: { $in: ids }, [`${HOLDS}.by._id`]: hold };
    const options = { ...this.database.limits, projection: { _id: 1 } };
    const find = () => this.model.collection.find(filter, options).toArray();
    return (await this.database.call(find)).map(({ _id }) => _id as Types.ObjectId);
  }

  /** Also removes holds that have ended by themselves. */
  private async release(ids: readonly Types.ObjectId[], hold: Types.ObjectId): Promise<void> {
    const over = { $or: [{ _id: hold }, { until: { $lt: new Date() } }] };
    await this.update(ids, { $pull: { [`${HOLDS}.by`]: over } }).catch(() => undefined);
  }

  private update(ids: readonly Types.ObjectId[], update: object): Promise<{ matchedCount: number }> {
    const filter = { _id: { $in: ids } };
    return this.database.call(() =>
      this.model.collection.updateMany(filter, update as never, { ...this.database.limits }),
    );
  }
}
