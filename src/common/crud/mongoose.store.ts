import { Error as MongooseErrors, type Model } from 'mongoose';
import { type Database, OPERATION_LIMITS, STREAM_BATCH } from '../database/index.js';
import { ValidationError, type Violation } from '../errors/index.js';
import type { Stored } from './crud-options.interface.js';
import type { CrudStore, StoreChange, StoreFilter, StoreWindow } from './crud.store.js';

/** Newest first. `_id` breaks ties: createdAt repeats within a millisecond. */
export const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The store over a Mongoose model. */
export class MongooseStore<Entity> implements CrudStore<Entity> {
  constructor(
    private readonly model: Model<Record<string, unknown>>,
    private readonly database: Database,
  ) {}

  async insert(record: object): Promise<Stored<Entity>> {
    const document = new this.model(record, undefined, { strict: 'throw' });
    try {
      await this.database.call(async () => document.save());
    } catch (error) {
      throw error instanceof MongooseErrors.ValidationError ? refused(error) : error;
    }
    return document.toObject<Stored<Entity>>();
  }

  async findOne(filter: StoreFilter): Promise<Stored<Entity> | undefined> {
    const found = await this.database.call(() =>
      this.model.findOne(filter, null, OPERATION_LIMITS).lean().exec(),
    );
    return (found as Stored<Entity> | null) ?? undefined;
  }

  find(filter: StoreFilter, window?: StoreWindow): AsyncIterable<Stored<Entity>> {
    const query = this.model.find(filter).sort(NEWEST_FIRST).lean();
    // A stream as a whole may take longer than one operation; its steps have the socket's limit each. Nor has it a
    // limit of 0: the driver would count batches against it and ask for ever larger ones.
    if (window) query.setOptions({ ...OPERATION_LIMITS, ...window });
    const batchSize = window ? window.limit + 1 : STREAM_BATCH;
    return this.database.iterate<Stored<Entity>>(() => query.cursor({ batchSize }) as never);
  }

  count(filter: StoreFilter): Promise<number> {
    return this.database.call(() => this.model.countDocuments(filter, this.countHint(filter)).exec());
  }

  async update(filter: StoreFilter, { set = {}, unset = [] }: StoreChange): Promise<boolean> {
    if (Object.keys(set).length === 0 && unset.length === 0) return (await this.count(filter)) > 0;
    const change = {
      $set: set,
      $unset: Object.fromEntries(unset.map((field) => [field, 1])),
      $inc: { __v: 1 },
    };
    const options = { ...OPERATION_LIMITS, runValidators: true, strict: 'throw' } as const;
    const result = await this.database.call(() => this.model.updateOne(filter, change, options).exec());
    return result.matchedCount > 0;
  }

  async delete(filter: StoreFilter): Promise<boolean> {
    const result = await this.database.call(() => this.model.deleteOne(filter, OPERATION_LIMITS).exec());
    return result.deletedCount > 0;
  }

  /** Without a condition the server would read every record; told so, it counts the keys of an index. */
  private countHint(filter: StoreFilter): object {
    return Object.keys(filter).length === 0 ? { ...OPERATION_LIMITS, hint: NEWEST_FIRST } : OPERATION_LIMITS;
  }
}

/** What the schema itself refuses, beyond what the input class says. */
function refused(error: MongooseErrors.ValidationError): Error {
  const violations = Object.entries(error.errors).map(([path, { message }]): Violation => ({
    pointer: `/${path.replaceAll('.', '/')}`,
    detail: message,
  }));
  const [first, ...others] = violations;
  return first ? new ValidationError([first, ...others]) : error;
}
