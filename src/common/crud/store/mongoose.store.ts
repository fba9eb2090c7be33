import { type Model, mongo, Types } from 'mongoose';
import { type Database, OPERATION_LIMITS, STREAM_BATCH, STREAM_BATCH_BYTES } from '../../database/index.js';
import { isPlainObject } from '../../fields/index.js';
import { bytesOf, followSize } from '../definition/bytes-of.js';
import type { Stored } from '../options/records.js';
import { type SearchDefinition, WORDS } from '../search/search-definition.js';
import { applyChange } from './apply-change.js';
import { counted } from './counted.js';
import type { CrudStore, StoreChange, StoreFilter, StoreRead, Updated } from './crud.store.js';
import { filtered } from './exact-conditions.js';
import { GatheredInserts, recordOfDocument } from './gathered-inserts.js';
import { GatheredUpdates } from './gathered-updates.js';
import { hideFields, hidesFields } from './hide-fields.js';
import { checkMapNames } from './map-names.js';
import { hasMiddleware } from './own-code.js';
import { OUTBOX, type OutboxEntry } from './outbox-entry.js';
import { type PlainRecord, PlainRecords } from './plain-records.js';
import { type Lookup, ReadBatches } from './read-batches.js';
import { schemaRefusal } from './schema-refusal.js';
import { WordKeeper } from './word-keeper.js';

/** https://www.mongodb.com/docs/manual/reference/error-codes/ */
const BAD_VALUE = 2;

const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The store over a Mongoose model. */
export class MongooseStore<Entity> implements CrudStore<Entity> {
  /** Middleware may treat callers differently, so that nothing is combined. */
  readonly hasMiddleware: boolean;
  private readonly indexes: ReadonlySet<string>;
  private readonly hides: boolean;
  private readonly words?: WordKeeper;
  private readonly hasOutbox: boolean;
  /** Whether the schema shows its records in another form than it stores them. */
  private readonly transforms: boolean;
  private readonly inserts: GatheredInserts;
  private readonly updates: GatheredUpdates;
  private readonly reads: ReadBatches<Entity>;
  private readonly plain?: PlainRecords;
  /** Size of a record in lists. Unit: bytes. */
  private recordBytes?: number;

  /** @param search definition of the search, if the model's schema has the words for it */
  constructor(
    private readonly model: Model<Record<string, unknown>>,
    private readonly database: Database,
    search?: SearchDefinition,
  ) {
    this.hides = hidesFields(model.schema.omit([WORDS, OUTBOX]));
    this.words = search && new WordKeeper(search, model.schema);
    this.hasOutbox = Boolean(model.schema.path(OUTBOX));
    this.hasMiddleware = hasMiddleware(model.schema);
    this.transforms = Boolean(model.schema.get('toObject') ?? model.base.get('toObject'));
    const { figures } = database;
    this.inserts = new GatheredInserts(model, (size) => figures.batch('creates', size));
    this.updates = new GatheredUpdates(model, (size) => figures.batch('updates', size));
    this.reads = new ReadBatches(
      (lookup, ids) => this.database.call(() => this.lookUp(lookup, ids)),
      (kind, size) => figures.batch(kind, size),
    );
    if (!this.transforms) this.plain = PlainRecords.of(model, [WORDS, OUTBOX]);
    const whole = model.schema.indexes().filter(([, options]) => !options.partialFilterExpression);
    this.indexes = new Set(whole.map(([keys]) => JSON.stringify(keys)));
  }

  async insert(values: object, entry?: OutboxEntry): Promise<Stored<Entity>> {
    const plain = this.plain?.make(values);
    return plain ? this.insertPlain(plain, entry) : this.insertDocument(values, entry);
  }

  /** Stores a record that needs no Mongoose document. */
  private async insertPlain({ record, stamp }: PlainRecord, entry?: OutboxEntry): Promise<Stored<Entity>> {
    if (this.words) Object.assign(record, this.words.ofRecord(record));
    if (this.hasOutbox && entry) record[OUTBOX] = [entry];
    await this.write(() => this.inserts.insert(stamp));
    return this.shown(record as Stored<Entity>);
  }

  private async insertDocument(record: object, entry?: OutboxEntry): Promise<Stored<Entity>> {
    checkMapNames(this.model.schema, record);
    return this.write(async () => {
      const document = new this.model(record, undefined, { strict: 'throw' });
      if (this.words) document.set(this.words.ofRecord(document.toObject()));
      if (this.hasOutbox && entry) document.set({ [OUTBOX]: [entry] });
      if (this.hasMiddleware) await document.save();
      else {
        const record = await this.inserts.insert(recordOfDocument(document));
        // Nobody else has the record: unless the schema shows records in another form, it needs no copy.
        if (!this.transforms) return this.shown(record as Stored<Entity>);
      }
      return this.shown(document.toObject<Stored<Entity>>());
    });
  }

  async findOne(filter: StoreFilter, fields?: readonly string[]): Promise<Stored<Entity> | undefined> {
    const { _id, ...predicate } = filter;
    if (!(_id instanceof Types.ObjectId)) return this.database.call(() => this.findFirst(filter, fields));
    const [found] = await this.findByIds([_id], predicate, fields);
    return found;
  }

  async findWhole(filter: StoreFilter): Promise<Stored<Entity> | undefined> {
    const own = { [WORDS]: 0, [OUTBOX]: 0 };
    const query = this.model.findOne({}, own, { ...OPERATION_LIMITS }).schemaLevelProjections(false);
    const found = await this.database.call(() => filtered(query, filter).lean().exec());
    return (found as Stored<Entity> | null) ?? undefined;
  }

  async findByIds(
    ids: readonly Types.ObjectId[],
    predicate: StoreFilter = {},
    fields?: readonly string[],
  ): Promise<Stored<Entity>[]> {
    const lookup = { predicate, fields };
    const found: readonly (Stored<Entity> | undefined)[] = this.hasMiddleware
      ? await this.database.call(() => this.lookUp(lookup, ids))
      : await this.database.call(() => this.reads.byIds(lookup, ids));
    return found.filter((record) => record !== undefined);
  }

  share<Result>(filter: StoreFilter, how: object, read: () => Promise<Result>): Promise<Result> {
    if (this.hasMiddleware) return read();
    // Each reader has its own deadline, whatever earlier readers waited for.
    return this.database.call(() => this.reads.share(filter, how, read));
  }

  private async findFirst(
    filter: StoreFilter,
    fields?: readonly string[],
  ): Promise<Stored<Entity> | undefined> {
    const plain = this.hides ? undefined : this.plain?.filter(filter);
    if (plain) {
      const projection = this.plainProjectionOf(fields);
      const record = await this.model.collection.findOne(plain, { ...OPERATION_LIMITS, projection });
      return (record as Stored<Entity> | null) ?? undefined;
    }
    const query = this.model.findOne({}, this.projectionOf(fields), { ...OPERATION_LIMITS });
    const found = (await filtered(query, filter).lean().exec()) as Stored<Entity> | null;
    return found ?? undefined;
  }

  private async lookUp(
    { predicate, fields }: Lookup,
    ids: readonly Types.ObjectId[],
  ): Promise<readonly Stored<Entity>[]> {
    const [id] = ids;
    if (ids.length === 1)
      return [await this.findFirst({ ...predicate, _id: id }, fields)].flatMap((found) => found ?? []);
    // With this hint, the server does not walk the index of another field to find them.
    const options = {
      ...OPERATION_LIMITS,
      limit: ids.length,
      batchSize: ids.length,
      hint: { _id: 1 } as const,
    };
    const plain = this.hides ? undefined : this.plain?.filter(predicate);
    if (plain) {
      const projection = this.plainProjectionOf(fields);
      const found = this.model.collection.find({ ...plain, _id: { $in: ids } }, { ...options, projection });
      return (await found.toArray()) as unknown as Stored<Entity>[];
    }
    const query = this.model.find({}, this.projectionOf(fields), options);
    return (await filtered(query, { ...predicate, _id: { $in: ids } })
      .lean()
      .exec()) as Stored<Entity>[];
  }

  find(filter: StoreFilter, { ranges, ...read }: StoreRead = {}): AsyncIterable<Stored<Entity>> {
    if (ranges) return this.findInRanges(filter, ranges, read);
    const { $and = [], ...equalities } = filter;
    const hint = this.indexOf(equalities, $and as StoreFilter[], read.sort ?? NEWEST_FIRST);
    return this.findAll(filter, read, { ...OPERATION_LIMITS, ...(hint && { hint }) });
  }

  private async *findInRanges(
    { $and = [], ...filter }: StoreFilter,
    ranges: readonly StoreFilter[],
    { limit, ...read }: Omit<StoreRead, 'ranges'>,
  ): AsyncGenerator<Stored<Entity>, void, undefined> {
    const end = performance.now() + OPERATION_LIMITS.maxTimeMS;
    const { sort = NEWEST_FIRST } = read;
    const hint = this.indexOf(filter, $and as StoreFilter[], sort);
    let found = 0;
    for (const range of ranges) {
      // Next to the conditions, so that a range never replaces one on the same field.
      const within = { ...filter, $and: [...($and as StoreFilter[]), range] };
      const left = limit === undefined ? undefined : limit - found;
      if (left === 0) return;
      const maxTimeMS = Math.max(1, Math.floor(end - performance.now()));
      for await (const record of this.findAll(
        within,
        { ...read, sort: restOf(sort, range), limit: left },
        { maxTimeMS, ...(hint && { hint }) },
      )) {
        found += 1;
        yield record;
      }
    }
  }

  /**
   * Reads with a hint of the index, if there is one. If the index was dropped since the start, the read only
   * gets slower.
   */
  private async *findAll(
    filter: StoreFilter,
    read: Omit<StoreRead, 'ranges'>,
    { hint, ...options }: { maxTimeMS: number; hint?: Record<string, 1 | -1> } = OPERATION_LIMITS,
  ): AsyncGenerator<Stored<Entity>, void, undefined> {
    try {
      yield* this.open(filter, read, { ...options, ...(hint && { hint }) });
    } catch (error) {
      if (!hint || !isOfHint(error)) throw error;
      yield* this.open(filter, read, options);
    }
  }

  private open(
    filter: StoreFilter,
    { sort = NEWEST_FIRST, fields, skip, limit }: Omit<StoreRead, 'ranges'>,
    { maxTimeMS, ...options }: { maxTimeMS: number; hint?: Record<string, 1 | -1> },
  ): AsyncIterable<Stored<Entity>> {
    const query = filtered(this.model.find({}, this.projectionOf(fields)), filter)
      .sort({ ...sort })
      .setOptions(options)
      .lean();
    // A whole stream may take longer than one operation; the socket's time-out limits each of its steps. It
    // must not have a limit of 0 either: the driver would count batches against it and request ever larger
    // ones.
    if (limit !== undefined) query.setOptions({ maxTimeMS, skip, limit });
    const batchSize = limit === undefined ? this.streamBatch() : limit + 1;
    return this.database.iterate<Stored<Entity>>(
      () => query.cursor({ batchSize }) as never,
      fields ? undefined : (record) => (this.recordBytes = followSize(this.recordBytes, bytesOf(record))),
    );
  }

  /** Every list in transfer holds a batch, for as long as its client takes. */
  private streamBatch(): number {
    const fitting = Math.floor(STREAM_BATCH_BYTES / (this.recordBytes ?? 1));
    return Math.min(Math.max(fitting, 1), STREAM_BATCH);
  }

  count(filter: StoreFilter): Promise<number> {
    const query = () => filtered(this.model.countDocuments({}, this.countOptions(filter)), filter);
    const count = () => (Object.keys(filter).length === 0 ? query() : counted(query())).exec();
    return this.share(filter, { count: true }, () => this.database.call(count));
  }

  estimatedCount(): Promise<number> {
    return this.database.call(() => this.model.estimatedDocumentCount({ ...OPERATION_LIMITS }).exec());
  }

  async exists(filter: StoreFilter): Promise<boolean> {
    const query = this.model.findOne(filter, { _id: 1 }, { ...OPERATION_LIMITS }).lean();
    return (await this.database.call(() => query.exec())) !== null;
  }

  async update(
    filter: StoreFilter,
    { set = {}, unset = [] }: StoreChange,
    entry?: OutboxEntry,
  ): Promise<Updated<Entity> | undefined> {
    checkMapNames(this.model.schema, set);
    const change = {
      $set: set,
      $unset: Object.fromEntries(unset.map((field) => [field, 1])),
      $inc: { __v: 1 },
      ...(this.hasOutbox && entry && { $push: { [OUTBOX]: entry } }),
    };
    const options = { ...OPERATION_LIMITS, runValidators: true, strict: 'throw' } as const;
    const query = this.model
      .findOneAndUpdate(filter, change, { ...options, returnDocument: 'before' })
      .lean();
    if (this.words) query.set(this.words.ofChange({ set, unset }, query));
    const previous = (await this.write(async () => query.exec())) as Stored<Entity> | null;
    // Mongoose has cast the change by now, and added updatedAt to it.
    if (!previous) return undefined;
    const record = applyChange(previous, query.getUpdate() as Record<string, object>);
    return { previous, record: this.shown(record) };
  }

  async updateUnread(filter: StoreFilter, change: StoreChange, entry?: OutboxEntry): Promise<boolean> {
    const plain = this.plain?.update(filter, change);
    if (!plain) return (await this.update(filter, change, entry)) !== undefined;
    if (this.words) Object.assign(plain.update.$set, this.words.ofChange(change, undefined));
    const $push = this.hasOutbox && entry ? { [OUTBOX]: entry } : undefined;
    const update = { ...plain.update, ...($push && { $push }) };
    return this.write(() => this.updates.update({ ...plain, update }));
  }

  async delete(filter: StoreFilter): Promise<Stored<Entity> | undefined> {
    const query = this.model.findOneAndDelete(filter, { ...OPERATION_LIMITS }).lean();
    return ((await this.database.call(() => query.exec())) as Stored<Entity> | null) ?? undefined;
  }

  /** The projection of some fields; `null` reads everything that the schema does not hide. */
  private projectionOf(fields: readonly string[] | undefined): Record<string, 1> | null {
    if (!fields || this.hides) return null;
    return Object.fromEntries([...fields, '__v'].map((field) => [field, 1] as const));
  }

  /** The same for the driver, which does not know which fields the schema hides. */
  private plainProjectionOf(fields: readonly string[] | undefined): Record<string, 0 | 1> {
    return this.projectionOf(fields) ?? { [WORDS]: 0, [OUTBOX]: 0 };
  }

  private shown(record: Stored<Entity>): Stored<Entity> {
    for (const member of [WORDS, OUTBOX]) Reflect.deleteProperty(record, member);
    return this.hides ? hideFields(this.model.schema, record as Stored<object> as never) : record;
  }

  /** Runs a write, and turns a rejection by the schema into an error that a client understands. */
  private async write<T>(operation: () => Promise<T>): Promise<T> {
    try {
      return await this.database.call(operation);
    } catch (error) {
      throw schemaRefusal(error) ?? error;
    }
  }

  /**
   * The index of an order, if there are no conditions. For a short range, which any index suits, the server
   * would otherwise choose one and sort.
   */
  private indexOf(
    equalities: StoreFilter,
    conditions: readonly StoreFilter[],
    sort: NonNullable<StoreRead['sort']>,
  ): Record<string, 1 | -1> | undefined {
    const isEquality = (value: unknown) => !isPlainObject(value) || Object.keys(value).join() === '$eq';
    if (conditions.length > 0 || !Object.values(equalities).every(isEquality)) return undefined;
    const prefix = Object.fromEntries(Object.keys(equalities).map((path) => [path, 1 as const]));
    const reverse = Object.fromEntries(
      Object.entries(sort).map(([path, direction]) => [path, direction === 1 ? -1 : 1] as const),
    );
    const candidates = [sort, reverse].map((keys) => ({ ...prefix, ...keys }));
    return candidates.find((keys) => this.indexes.has(JSON.stringify(keys)));
  }

  /**
   * Without a condition the server would read every record. With the hint, it counts the keys of the index,
   * if there is one.
   */
  private countOptions(filter: StoreFilter): object {
    const countsIndex = Object.keys(filter).length === 0 && this.indexes.has(JSON.stringify(NEWEST_FIRST));
    return countsIndex ? { ...OPERATION_LIMITS, hint: NEWEST_FIRST } : { ...OPERATION_LIMITS };
  }
}

/** Whether the server rejected a hint because it has no such index. */
function isOfHint(error: unknown): boolean {
  return (
    error instanceof mongo.MongoServerError && error.code === BAD_VALUE && error.message.includes('hint')
  );
}

/**
 * The sort keys that a range does not fix to one value: with the fixed ones, the server would sort in memory.
 */
function restOf(sort: NonNullable<StoreRead['sort']>, range: StoreFilter): Record<string, 1 | -1> {
  const isFixed = (path: string) => '$eq' in ((range[path] as object | undefined) ?? {});
  return Object.fromEntries(Object.entries(sort).filter(([path]) => !isFixed(path)));
}
