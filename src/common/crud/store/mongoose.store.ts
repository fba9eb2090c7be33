import type { Model } from 'mongoose';
import { type Database, OPERATION_LIMITS, STREAM_BATCH } from '../../database/index.js';
import type { Stored } from '../options/records.js';
import { applyChange } from './apply-change.js';
import type { CrudStore, StoreChange, StoreFilter, StoreRead, Updated } from './crud.store.js';
import { filtered } from './exact-conditions.js';
import { hideFields, hidesFields } from './hide-fields.js';
import { checkMapNames } from './map-names.js';
import { schemaRefusal } from './schema-refusal.js';

const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The store over a Mongoose model. */
export class MongooseStore<Entity> implements CrudStore<Entity> {
  private readonly indexes: ReadonlySet<string>;
  private readonly hides: boolean;

  constructor(
    private readonly model: Model<Record<string, unknown>>,
    private readonly database: Database,
  ) {
    this.hides = hidesFields(model.schema);
    this.indexes = new Set(model.schema.indexes().map(([keys]) => JSON.stringify(keys)));
  }

  async insert(record: object): Promise<Stored<Entity>> {
    checkMapNames(this.model.schema, record);
    return this.write(async () => {
      const document = new this.model(record, undefined, { strict: 'throw' });
      await document.save();
      return this.shown(document.toObject<Stored<Entity>>());
    });
  }

  async findOne(filter: StoreFilter, fields?: readonly string[]): Promise<Stored<Entity> | undefined> {
    const found = await this.database.call(() =>
      filtered(this.model.findOne({}, this.projectionOf(fields), { ...OPERATION_LIMITS }), filter)
        .lean()
        .exec(),
    );
    return (found as Stored<Entity> | null) ?? undefined;
  }

  find(
    filter: StoreFilter,
    { sort = NEWEST_FIRST, fields, skip, limit }: StoreRead = {},
  ): AsyncIterable<Stored<Entity>> {
    const query = filtered(this.model.find({}, this.projectionOf(fields)), filter)
      .sort({ ...sort })
      .lean();
    // A stream as a whole may take longer than one operation; its steps have the socket's limit each. Nor has it a
    // limit of 0: the driver would count batches against it and ask for ever larger ones.
    if (limit !== undefined) query.setOptions({ ...OPERATION_LIMITS, skip, limit });
    const batchSize = limit === undefined ? STREAM_BATCH : limit + 1;
    return this.database.iterate<Stored<Entity>>(() => query.cursor({ batchSize }) as never);
  }

  count(filter: StoreFilter): Promise<number> {
    return this.database.call(() =>
      filtered(this.model.countDocuments({}, this.countOptions(filter)), filter).exec(),
    );
  }

  async exists(filter: StoreFilter): Promise<boolean> {
    const query = this.model.findOne(filter, { _id: 1 }, { ...OPERATION_LIMITS }).lean();
    return (await this.database.call(() => query.exec())) !== null;
  }

  async update(
    filter: StoreFilter,
    { set = {}, unset = [] }: StoreChange,
  ): Promise<Updated<Entity> | undefined> {
    checkMapNames(this.model.schema, set);
    const change = {
      $set: set,
      $unset: Object.fromEntries(unset.map((field) => [field, 1])),
      $inc: { __v: 1 },
    };
    const options = { ...OPERATION_LIMITS, runValidators: true, strict: 'throw' } as const;
    const query = this.model
      .findOneAndUpdate(filter, change, { ...options, returnDocument: 'before' })
      .lean();
    const previous = (await this.write(async () => query.exec())) as Stored<Entity> | null;
    // Mongoose has cast the change by now, and added updatedAt to it.
    if (!previous) return undefined;
    const record = applyChange(previous, query.getUpdate() as Record<string, object>);
    return { previous, record: this.shown(record) };
  }

  async delete(filter: StoreFilter): Promise<Stored<Entity> | undefined> {
    const query = this.model.findOneAndDelete(filter, { ...OPERATION_LIMITS }).lean();
    return ((await this.database.call(() => query.exec())) as Stored<Entity> | null) ?? undefined;
  }

  /** Without those that the schema hides at a deeper level; `null` reads all that it does not hide. */
  private projectionOf(fields: readonly string[] | undefined): Record<string, 1> | null {
    if (!fields || this.hides) return null;
    return Object.fromEntries([...fields, '__v'].map((field) => [field, 1] as const));
  }

  private shown(record: Stored<Entity>): Stored<Entity> {
    return this.hides ? hideFields(this.model.schema, record as Stored<object> as never) : record;
  }

  /** Runs a write; what the schema refuses becomes an error that a client understands. */
  private async write<T>(operation: () => Promise<T>): Promise<T> {
    try {
      return await this.database.call(operation);
    } catch (error) {
      throw schemaRefusal(error) ?? error;
    }
  }

  /** Without a condition the server would read every record; told so, it counts the keys of an index, if it has one. */
  private countOptions(filter: StoreFilter): object {
    const countsIndex = Object.keys(filter).length === 0 && this.indexes.has(JSON.stringify(NEWEST_FIRST));
    return countsIndex ? { ...OPERATION_LIMITS, hint: NEWEST_FIRST } : { ...OPERATION_LIMITS };
  }
}
