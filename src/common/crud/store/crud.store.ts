import { type Model, type mongo, type PipelineStage, Types } from 'mongoose';
import { Batches, CALL_DEADLINE_MS, type Database, singleFlight } from '../../database/index.js';
import { WriteConflictError } from '../../errors/index.js';
import type { Stored } from '../options/records.js';
import { RecordWords, type SearchDefinition, type StoredWords } from '../search/words.js';
import {
  type AggregationStage,
  allOf,
  applyChange,
  type Fields,
  HOLDS,
  OUTBOX,
  type StoreChange,
  type StoreFilter,
  type StoreRead,
  type Updated,
  WORDS,
} from '../schema/store-types.js';
import { eachHidden, hasMaps, hasMiddleware, hidesFields } from '../schema/schema-paths.js';
import { type Outbox, type OutboxEntry } from './outbox.js';
import {
  filtered,
  kindOf,
  type Lookup,
  OrderedReads,
  type SharedLookups,
  sharedLookups,
} from './shared-reads.js';
import { type Holding, ReferenceHolds } from './reference-holds.js';
import { checkMapNames, schemaRejection } from './schema-rejection.js';
import {
  differing,
  hasAll,
  PlainChanges,
  recordOfDocument,
  sharedInserts,
  type SharedUpdate,
  sharedUpdates,
  type SharedWrites,
} from './shared-writes.js';

/** How often a deletion is tried again because the record changed in between. */
const MAX_ATTEMPTS = 10;

/** Length of texts to index from which on writes are carried out one at a time. Unit: UTF-16 code units. */
const LARGE = 4_096;

/** What a write needs besides its values. */
interface StoreWrite {
  /** Stored with the record if subscribers are told of it. */
  readonly entry?: OutboxEntry;
  /** Called as soon as later writes are carried out after this one. */
  readonly onQueued?: () => void;
}

/**
 * The only way from a resource to its database: a few verbs, each one command, or a part of one. Code that batches
 * or caches commands belongs behind them, so that nothing above changes. Records lack the fields that the schema hides.
 */
export class CrudStore<Entity> {
  /**
   * Whether middleware of your own, of the schema or of a global plugin, may complete a record before it is stored.
   * It may treat callers differently, so that nothing is combined.
   */
  readonly hasMiddleware: boolean;
  /** Keep records from being deleted while writes that refer to them are carried out. */
  readonly holds: ReferenceHolds;
  private readonly isCountHooked: boolean;
  private readonly lists: OrderedReads;
  private readonly hides: boolean;
  private readonly hasMaps: boolean;
  private readonly words?: RecordWords;
  /** Whether a record has to be stored by Mongoose: middleware may complete it, or the schema show it in another form. */
  private readonly isSaved: boolean;
  private readonly inserts: SharedWrites<Fields>;
  private readonly updates: SharedWrites<SharedUpdate>;
  private readonly lookups: SharedLookups;
  private readonly equalReads = singleFlight<unknown>({
    onStep: (size) => this.database.metrics.batch('equals', size),
  });
  private readonly plain: PlainChanges;
  /** Changes of one record run one at a time, by its identifier, and so do writes with much text to index, of all records. */
  private readonly queues = new Batches<() => Promise<unknown>, unknown>(
    (writes) => Promise.all(writes.map((write) => write())),
    { max: 1, patienceMs: CALL_DEADLINE_MS, pausesBetweenSteps: true },
  );

  /**
   * @param search definition of the search, if the model's schema has the words for it
   * @param isReferredTo whether records of other resources may refer to these
   * @param holding keeps the records that written values refer to; undefined if they refer to none
   * @param outbox keeps the events of writes, if subscribers are told of them
   */
  constructor(
    private readonly model: Model<Fields>,
    private readonly database: Database,
    private readonly search: SearchDefinition | undefined,
    readonly isReferredTo: () => boolean,
    private readonly holding: Holding | undefined,
    private readonly outbox?: Outbox,
  ) {
    this.holds = new ReferenceHolds(model, database);
    this.hides = hidesFields(model.schema.omit([WORDS, OUTBOX]));
    this.hasMaps = hasMaps(model.schema);
    this.words = search && new RecordWords(search, model.schema);
    this.hasMiddleware = hasMiddleware(model.schema);
    this.isCountHooked = hasMiddleware(model.schema, 'countDocuments');
    this.isSaved = this.hasMiddleware || Boolean(model.schema.get('toObject') ?? model.base.get('toObject'));
    this.inserts = sharedInserts(model, database);
    this.updates = sharedUpdates(model, database);
    this.lookups = sharedLookups((lookup, ids) => database.call(() => this.lookUp(lookup, ids)), database);
    this.plain = new PlainChanges(model);
    this.lists = new OrderedReads(model, database, (fields) => this.projectionOf(fields));
  }

  /** The same store for the operations of a transaction, in which references are held as well. */
  within(database: Database, holding: Holding | undefined): CrudStore<Entity> {
    return new CrudStore(this.model, database, this.search, this.isReferredTo, holding, this.outbox);
  }

  /** Stores a new record and returns it as stored. @throws ValidationError of the schema, DuplicateValueError */
  async insert(record: object, { entry, onQueued }: StoreWrite = {}): Promise<Stored<Entity>> {
    return this.write(record, async (hold) => {
      const document = new this.model(record, undefined, { strict: 'throw' });
      const added = this.words?.ofRecord(document.toObject());
      if (added) document.set(added);
      const words = added && this.words?.count(Object.values(added[WORDS]).flat());
      if (this.outbox && entry) document.set({ [OUTBOX]: [entry] });
      onQueued?.();
      if (this.isSaved) {
        await hold?.();
        await this.inTurn({}, () => document.save({ session: this.database.limits.session }));
        return this.shown(document.toObject<Stored<Entity>>());
      }
      const make = async () => {
        await hold?.();
        return recordOfDocument(document);
      };
      // Nobody else has the record, so it needs no copy.
      return this.shown((await this.inserts.add({ make, words })) as Stored<Entity>);
    });
  }

  async findOne(filter: StoreFilter, fields?: readonly string[]): Promise<Stored<Entity> | undefined> {
    const { _id, ...predicate } = filter;
    if (!(_id instanceof Types.ObjectId)) return this.database.call(() => this.findFirst(filter, fields));
    const [found] = await this.findByIds([_id], predicate, fields);
    return found;
  }

  /** The matching records among those with the given identifiers, in no particular order. */
  async findByIds(
    ids: readonly Types.ObjectId[],
    predicate: StoreFilter = {},
    fields?: readonly string[],
  ): Promise<Stored<Entity>[]> {
    const lookup = { predicate, fields };
    const lookUpAll = () => {
      const kind = kindOf(predicate, { fields });
      return Promise.all(ids.map((id) => this.lookups.add({ ...lookup, id }, kind)));
    };
    const found = await this.database.call<readonly (Stored<object> | undefined)[]>(() =>
      this.hasMiddleware ? this.lookUp(lookup, ids) : lookUpAll(),
    );
    return found.filter((record) => record !== undefined) as Stored<Entity>[];
  }

  /**
   * Carries out a read once for all who ask for the same before it begins. They share the result, and must not change it.
   *
   * @param how everything that the read depends on besides its filter
   */
  share<Result>(filter: StoreFilter, how: object, read: () => Promise<Result>): Promise<Result> {
    // A transaction takes the operations of a read one after another.
    if (this.hasMiddleware || this.database.limits.session) return read();
    // Each reader has its own deadline, whatever earlier readers waited for.
    return this.database.call(() => this.equalReads.add(read, kindOf(filter, how)) as Promise<Result>);
  }

  private async findFirst(
    filter: StoreFilter,
    fields?: readonly string[],
  ): Promise<Stored<Entity> | undefined> {
    const query = this.model.findOne({}, this.projectionOf(fields), { ...this.database.limits });
    const found = (await filtered(query, filter).lean().exec()) as Stored<Entity> | null;
    return found ?? undefined;
  }

  private async lookUp({ predicate, fields }: Lookup, ids: readonly Types.ObjectId[]) {
    const [id] = ids;
    if (ids.length === 1)
      return [await this.findFirst({ ...predicate, _id: id }, fields)].flatMap((found) => found ?? []);
    // With this hint, the server does not walk the index of another field to find them.
    const limit = ids.length;
    const options = { ...this.database.limits, limit, batchSize: limit, hint: { _id: 1 } as const };
    const query = this.model.find({}, this.projectionOf(fields), options).lean();
    return (await filtered(query, { ...predicate, _id: { $in: ids } }).exec()) as Stored<Entity>[];
  }

  /** The matching records, read as they are consumed. Closes its cursor when the reader stops early. */
  find(filter: StoreFilter, read: StoreRead = {}): AsyncIterable<Stored<Entity>> {
    return this.lists.find(filter, read) as AsyncIterable<Stored<Entity>>;
  }

  count(filter: StoreFilter): Promise<number> {
    const { database, isCountHooked, lists, model } = this;
    const { limits } = database;
    const count = () => {
      const all = model.countDocuments({}, { ...limits, ...lists.countHint(filter) });
      const query = filtered(all, filter);
      // A transaction takes no command `count`, and without a condition it is not exact on a sharded cluster:
      // https://www.mongodb.com/docs/manual/reference/method/db.collection.count/#sharded-clusters
      if (isCountHooked || limits.session || Object.keys(filter).length === 0) return query.exec();
      // The aggregation of `countDocuments` can run on a plan that MongoDB 7.0 caches for good: one made before the
      // first list entered an index looks up a single value there, and misses records with two words of a search.
      query.cast(model);
      return model.collection.count(
        query.getFilter() as mongo.Document,
        query.getOptions() as mongo.CountOptions,
      );
    };
    return this.share(filter, { count: true }, () => database.call(count));
  }

  /** What the stages of an aggregation make of the records that match. */
  aggregate<Result extends object>(
    filter: StoreFilter,
    stages: readonly AggregationStage[],
  ): Promise<Result[]> {
    const query = filtered(this.model.find(), filter);
    query.cast(this.model);
    const pipeline = [{ $match: query.getFilter() }, ...stages] as unknown as PipelineStage[];
    const aggregation = this.model.aggregate<Result>(pipeline).option({ ...this.database.limits });
    return this.database.call(() => aggregation.exec());
  }

  /** The approximate number of all records, at no cost. */
  estimatedCount(): Promise<number> {
    if (this.database.limits.session) return this.count({});
    return this.database.call(() => this.model.estimatedDocumentCount({ ...this.database.limits }).exec());
  }

  async exists(filter: StoreFilter): Promise<boolean> {
    return (await this.findOne(filter, [])) !== undefined;
  }

  /**
   * Changes the record that matches, and its revision; undefined if none matches.
   *
   * @param write if it has an entry, values that the record has already change nothing
   * @throws ValidationError if the schema rejects the change, DuplicateValueError if a unique value is taken
   */
  async update(
    filter: StoreFilter,
    { set = {}, unset = [] }: StoreChange,
    { entry }: StoreWrite = {},
  ): Promise<Updated<Entity> | undefined> {
    const toStore = this.outbox && entry;
    const change = {
      $set: set,
      $unset: Object.fromEntries(unset.map((field) => [field, 1])),
      $inc: { __v: 1 },
      ...(toStore && { $push: { [OUTBOX]: entry } }),
    };
    const condition = toStore ? differing({ set, unset }) : undefined;
    if (toStore && !condition) {
      const current = await this.findOne(filter);
      if (current && hasAll(current, { set, unset })) return { previous: current, record: current };
    }
    const { limits } = this.database;
    const options = { ...limits, runValidators: true, strict: 'throw', returnDocument: 'before' } as const;
    const query = this.model
      .findOneAndUpdate(condition ? allOf(filter, condition) : filter, change, options)
      .select(this.projectionOf(undefined) ?? {})
      .lean();
    const previous = (await this.write(set, async (hold) => {
      await hold?.();
      const words = this.wordsOf({ set, unset }, query);
      if (words) query.set(words);
      return this.inTurn(filter, () => query.exec());
    })) as Stored<Entity> | null;
    // Mongoose has cast the change by now, and added updatedAt to it.
    if (!previous) {
      const same = condition && (await this.findOne(filter));
      return same && { previous: same, record: same };
    }
    const record = applyChange(previous, query.getUpdate() as Record<string, object>);
    return { previous, record: this.shown(record) };
  }

  /** Does the same, without an entry, and returns only the new revision. Concurrent updates share commands. */
  async updateUnread(
    filter: StoreFilter,
    change: StoreChange,
    { onQueued }: StoreWrite = {},
  ): Promise<number | undefined> {
    if (!this.plain.fits(change)) return (await this.update(filter, change))?.record.__v;
    return this.write(change.set ?? {}, async (hold) => {
      await hold?.();
      const words = { ...this.wordsOf(change, undefined) };
      onQueued?.();
      const make = () => this.plain.statementOf(filter, change, words);
      return (await this.updates.add({ make }))?.revision;
    });
  }

  /** The stored words that a change affects, by path. @throws ValidationError if there are too many */
  private wordsOf(change: StoreChange, context: unknown): Record<string, StoredWords> | undefined {
    const words = this.words?.ofChange(change, context);
    if (words) this.words?.count(words);
    return words;
  }

  /**
   * Removes the record that matches and returns it; undefined if none matches. Regards no references.
   *
   * @param entry stored before the record is removed if subscribers are told of it
   * @throws WriteConflictError if other writes were faster each time
   */
  async delete(filter: StoreFilter, entry?: OutboxEntry): Promise<Stored<Entity> | undefined> {
    const { outbox, database } = this;
    if (!outbox) return this.remove(filter);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const query = this.model.findOne({}, null, { ...database.limits }).select(outbox.hiddenFields);
      const found = await database.call(() => filtered(query, filter).lean().exec());
      if (!found) return undefined;
      const revision = await outbox.storeDeletion(found, entry, database);
      const removed = revision && (await this.remove(allOf(filter, revision as StoreFilter)));
      if (removed) return removed;
    }
    throw new WriteConflictError();
  }

  private async remove(filter: StoreFilter): Promise<Stored<Entity> | undefined> {
    const query = this.model
      .findOneAndDelete({}, { ...this.database.limits })
      .select(this.projectionOf(undefined) ?? {});
    const found = await this.database.call(() => filtered(query, filter).lean().exec());
    return (found as Stored<Entity> | null) ?? undefined;
  }

  /** The projection of some fields; `null` reads everything that the schema does not hide. */
  private projectionOf(fields: readonly string[] | undefined): Record<string, 0 | 1> | null {
    // The schema does not know this member, which only records have that others refer to.
    if (!fields || this.hides) return this.isReferredTo() ? { [HOLDS]: 0 } : null;
    return Object.fromEntries([...fields, '__v'].map((field) => [field, 1] as const));
  }

  /** Carries out the command of a change. Those of one record wait for each other here, not in the database. */
  private inTurn<T>({ _id }: StoreFilter, command: () => Promise<T>): Promise<T> {
    if (this.database.limits.session) return this.database.call(command);
    return _id === undefined ? command() : (this.queues.add(command, String(_id)) as Promise<T>);
  }

  private shown(record: Stored<Entity>): Stored<Entity> {
    for (const member of [WORDS, OUTBOX, HOLDS]) Reflect.deleteProperty(record, member);
    // Reads omit what the schema hides, results of writes do not.
    const hide = (holder: object, name: string) => Reflect.deleteProperty(holder, name);
    if (this.hides) eachHidden(this.model.schema, record, hide);
    return record;
  }

  /** Runs a write, which calls `hold` right before its command. Rejections become errors that clients understand. */
  private async write<T>(values: object, operation: (hold?: () => Promise<void>) => Promise<T>): Promise<T> {
    const { database, holding, model, words } = this;
    if (this.hasMaps) checkMapNames(model.schema, values);
    const isLarge = words !== undefined && words.lengthOf(values) >= LARGE;
    const run = async (hold?: () => Promise<void>) => {
      try {
        // In a transaction, each command is a call of its own, and one that writes share waits for all of them.
        if (database.limits.session) return await operation(hold);
        return await database.call(async () =>
          isLarge ? ((await this.queues.add(() => operation(hold))) as T) : operation(hold),
        );
      } catch (error) {
        throw schemaRejection(error, model.schema) ?? error;
      }
    };
    return holding ? holding(values, run) : run();
  }
}
