import { randomInt } from 'node:crypto';
import { type HydratedDocument, type Model, mongo, type Schema, type SchemaType, Types } from 'mongoose';
import { Batches, type BatchKind, CALL_DEADLINE_MS, type Database } from '../../database/index.js';
import { type Fields, type StoreChange, type StoreFilter, valueAt } from '../schema/store-types.js';
import { filtered } from './shared-reads.js';
import { plain } from '../definition/output.js';
import { entryTypeOf, hasMiddleware, hasOwnValidators } from '../schema/schema-paths.js';

/** Maximum number of writes that one command carries out. Unit: writes. */
const MAX_BATCH = 1_000;

/** Maximum number of words to index by one command that carries out several writes. Unit: words. */
const MAX_BATCH_WORDS = 20_000;

/** Above the revisions that are drawn; the store counts on from any of them without losing its exactness. */
const MAX_REVISION = 2 ** 47;

/** Tells what became of a statement that was sent: the statement, or undefined if no record matched. @throws its error */
type OutcomeOf<Statement> = (statement: Statement) => Outcome<Statement> | Promise<Outcome<Statement>>;
type Outcome<Statement> = Statement | undefined;

/** How the writes of a kind are carried out. */
interface WriteKind<Statement> {
  /** Sends one statement. @throws the error of the server */
  readonly alone: (statement: Statement) => Promise<Outcome<Statement>>;
  /** Sends several, of which each is carried out whatever becomes of the others. */
  readonly together: (statements: readonly Statement[]) => Promise<unknown>;
  /** Sends several in a transaction, which ends with the first that is rejected. @throws the error of the server, with its `index` */
  readonly inTransaction: (statements: readonly Statement[]) => Promise<OutcomeOf<Statement>>;
}

/** A write that shares its command. */
interface SharedWrite<Statement> {
  /** Makes the statement, right before its command. @throws what rejects the write */
  readonly make: () => Statement | Promise<Statement>;
  /** Number of its words to index. Unit: words. @default 0 */
  readonly words?: number;
}

/** Writes that arrive while a command is in flight share the next one. Each has its own outcome. */
export type SharedWrites<Statement> = Batches<SharedWrite<Statement>, Outcome<Statement>>;

function sharedWrites<Statement>(
  database: Database,
  name: BatchKind,
  kind: WriteKind<Statement>,
): SharedWrites<Statement> {
  const { limits, metrics, waitForGroup } = database;
  return new Batches(
    async (writes) => {
      const made = await Promise.allSettled(writes.map(async ({ make }) => make()));
      const ready = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      const outcomeOf = await (limits.session ? sendInTransaction(kind, ready, database) : send(kind, ready));
      const outcomes = made.map(async (one) => {
        if (one.status === 'rejected') throw one.reason;
        return outcomeOf(one.value);
      });
      await Promise.allSettled(outcomes);
      return outcomes;
    },
    {
      max: MAX_BATCH,
      beforeStep: waitForGroup,
      weight: { of: ({ words = 0 }) => words, max: MAX_BATCH_WORDS },
      patienceMs: CALL_DEADLINE_MS,
      onStep: (size) => metrics.batch(name, size),
    },
  );
}

async function send<Statement>(
  { alone, together }: WriteKind<Statement>,
  statements: readonly Statement[],
): Promise<OutcomeOf<Statement>> {
  if (statements.length < 2) return alone;
  try {
    await together(statements);
    return (statement) => statement;
  } catch (error) {
    const rejected = new Set(rejectedBy(error).map((position) => statements[position]));
    return (statement) => {
      if (rejected.size === 0) throw error;
      // Sent alone, it gets the whole reason of the server, such as the index that a duplicate violates.
      return rejected.has(statement) ? alone(statement) : statement;
    };
  }
}

async function sendInTransaction<Statement>(
  { alone, inTransaction }: WriteKind<Statement>,
  statements: readonly Statement[],
  database: Database,
): Promise<OutcomeOf<Statement>> {
  // Its own call, since a transaction takes one command after another.
  if (statements.length < 2) return (statement) => database.call(async () => alone(statement));
  try {
    return await database.call(() => inTransaction(statements));
  } catch (error) {
    // Those before the one that is rejected were carried out, until it ended the transaction.
    const { index = 0 } = ((error as Error).cause ?? error) as { index?: number };
    return (statement) => {
      if (statements.indexOf(statement) >= index) throw error;
      return statement;
    };
  }
}

/**
 * Sends a command with several statements in a transaction.
 *
 * @throws MongoServerError of the first statement that is rejected, of which the driver's methods keep only the text
 */
async function commandInTransaction(
  { db }: Model<Fields>,
  { limits }: Database,
  command: object,
): Promise<void> {
  const { session, ...others } = limits;
  const reply = await db.db?.command({ ...command, ...others }, { session });
  const [rejection] = (reply?.writeErrors ?? []) as mongo.ErrorDescription[];
  if (rejection) throw new mongo.MongoServerError(rejection);
}

/** Stores new records, in the order of arrival, and returns them. */
export function sharedInserts(model: Model<Fields>, database: Database): SharedWrites<Fields> {
  const alone = async (record: Fields) => {
    await model.collection.insertOne(record, { ...database.limits });
    return record;
  };
  const together = (records: readonly Fields[]) =>
    model.collection.insertMany([...records], { ...database.limits, ordered: false });
  const inTransaction = async (documents: readonly Fields[]) => {
    await commandInTransaction(model, database, { insert: model.collection.collectionName, documents });
    return (record: Fields) => record;
  };
  return sharedWrites(database, 'creates', { alone, together, inTransaction });
}

/** A change of one record, in the store's types. */
export interface SharedUpdate {
  readonly filter: Fields;
  readonly update: Readonly<Record<string, Fields>>;
  /** The new one of the record, if the update shares its command, which tells none; in the outcome, whatever it is. */
  readonly revision: number;
}

/** Changes records, each of which gets a new revision. */
export function sharedUpdates(model: Model<Fields>, database: Database): SharedWrites<SharedUpdate> {
  const { collection } = model;
  const revised = ({ update, revision }: SharedUpdate) => ({
    ...update,
    $set: { ...update.$set, __v: revision },
  });
  const alone = async (statement: SharedUpdate) => {
    const { filter, update } = statement;
    const options = { ...database.limits, projection: { __v: 1 }, returnDocument: 'after' } as const;
    const record = await collection.findOneAndUpdate(filter, { ...update, $inc: { __v: 1 } }, options);
    return record ? { ...statement, revision: record.__v as number } : undefined;
  };
  // The server returns how many updates matched, but not which; only errors have a position. So an update
  // without a match is made to fail: as an upsert whose new record would have another identifier than its filter.
  const rejection = { $setOnInsert: { _id: null } };
  const together = (statements: readonly SharedUpdate[]) => {
    const operations = statements.map((one) => ({
      updateOne: { filter: one.filter, update: { ...revised(one), ...rejection }, upsert: true },
    }));
    return collection.bulkWrite(operations, { ...database.limits, ordered: false });
  };
  // Within its snapshot, a transaction changes exactly the records that it finds.
  const inTransaction = async (statements: readonly SharedUpdate[]) => {
    const matching = new Set<SharedUpdate>();
    for (const { conditions, alike } of byConditions(statements)) {
      const ids = alike.map(({ filter }) => filter._id as mongo.ObjectId);
      // One more, or the server would wait for a getMore to say that there are no others.
      const [batchSize, projection, hint] = [ids.length + 1, { _id: 1 }, { _id: 1 }] as const;
      const options = { ...database.limits, projection, batchSize, hint };
      const found = await collection.find({ ...conditions, _id: { $in: ids } }, options).toArray();
      const known = new Set(found.map(({ _id }) => String(_id)));
      for (const one of alike) if (known.has(String(one.filter._id))) matching.add(one);
    }
    const updates = statements
      .filter((one) => matching.has(one))
      .map((one) => ({ q: one.filter, u: revised(one) }));
    if (updates.length > 0)
      await commandInTransaction(model, database, { update: collection.collectionName, updates });
    return (one: SharedUpdate) => (matching.has(one) ? one : undefined);
  };
  return sharedWrites(database, 'updates', { alone, together, inTransaction });
}

/** The statements whose filters differ by their identifiers alone. */
function byConditions(statements: readonly SharedUpdate[]) {
  const groups = new Map<string, { readonly conditions: Fields; readonly alike: SharedUpdate[] }>();
  for (const statement of statements) {
    const { _id, ...conditions } = statement.filter;
    const key = Buffer.from(mongo.BSON.serialize(conditions)).toString('latin1');
    const group = groups.get(key) ?? { conditions, alike: [] };
    group.alike.push(statement);
    groups.set(key, group);
  }
  return groups.values();
}

/** Types of Mongoose whose values are cast and checked by themselves, without the record around them. */
const SINGLE = new Set(['String', 'Number', 'Boolean', 'Date', 'ObjectId', 'Decimal128', 'BigInt', 'UUID']);

/** Makes changes as Mongoose would, of fields of single values, or lists of those, in schemas without custom code. */
export class PlainChanges {
  private readonly fields: ReadonlySet<string>;
  private readonly isStamped: boolean;

  constructor(private readonly model: Model<Fields>) {
    const { schema } = model;
    this.isStamped = schema.get('timestamps') === true;
    const names = isPlainSchema(schema) ? Object.keys(schema.paths) : [];
    this.fields = new Set(names.filter((name) => isPlainField(schema, name)));
  }

  /** Whether a change needs nothing but its own values. */
  fits({ set = {}, unset = [] }: StoreChange): boolean {
    return [...Object.keys(set), ...unset].every((path) => this.fields.has(path));
  }

  /**
   * The statement of a change that fits, with the current time: a change that has waited must not set back the
   * time of one that is acknowledged already. The words are stored unchecked.
   *
   * @throws ValidationError of Mongoose if the schema rejects a value
   */
  async statementOf(
    filter: StoreFilter,
    { set = {}, unset = [] }: StoreChange,
    words: Fields,
  ): Promise<SharedUpdate> {
    const query = filtered(this.model.find(), filter);
    query.cast(this.model);
    const checked = await this.model.validate({ ...set }, [...Object.keys(set), ...unset]);
    const now = this.isStamped && { updatedAt: new Date(this.model.base.now()) };
    const update = {
      $set: { ...checked, ...now, ...words },
      ...(unset.length > 0 && { $unset: Object.fromEntries(unset.map((path) => [path, 1])) }),
    };
    return { filter: query.getFilter(), update, revision: randomInt(MAX_REVISION) };
  }
}

function isPlainField(schema: Schema, path: string): boolean {
  const type = schema.path(path);
  if (path.includes('.') || path === '_id' || path === 'updatedAt') return false;
  const single = entryTypeOf(type) ?? type;
  const isSet = [type, single].some(
    (one) => (one as SchemaType & { setters: readonly unknown[] }).setters.length > 0,
  );
  return SINGLE.has(single.instance) && !type.options.immutable && !isSet;
}

function isPlainSchema(schema: Schema): boolean {
  // The driver would not know these options, which apply to every command.
  if (schema.get('collation') || schema.get('writeConcern')) return false;
  // They may have names of their own, or a clock.
  if (typeof schema.get('timestamps') === 'object') return false;
  return !schema.discriminators && !hasMiddleware(schema) && !hasOwnValidators(schema);
}

/** The positions of the statements that the server rejected individually; none if the command failed as a whole. */
function rejectedBy(error: unknown): number[] {
  if (!(error instanceof mongo.MongoBulkWriteError) || error.result.getWriteConcernError()) return [];
  return [error.writeErrors].flat().map(({ index }) => index);
}

/** Makes the record of a document as `save()` would store it, with its timestamps and revision. @throws the errors of its schema */
export async function recordOfDocument(
  document: HydratedDocument<Fields> & { initializeTimestamps?(): unknown },
): Promise<Fields> {
  await document.validate();
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

/** Condition that a change makes a difference; undefined if it has objects, which the database cannot compare by their values. */
export function differing({ set = {}, unset = [] }: StoreChange): StoreFilter | undefined {
  const values = Object.entries(set);
  if (values.some(([, value]) => !isComparable(value))) return undefined;
  return {
    $or: [
      ...values.map(([path, value]) => ({ [path]: { $ne: value } })),
      // A list matches each of its entries, in a field that takes both.
      ...values.map(([path, value]) => ({ [path]: Array.isArray(value) ? { $elemMatch: LIST } : LIST })),
      ...unset.map((path) => ({ [path]: { $exists: true } })),
    ],
  };
}

const LIST = { $type: 'array' };

function isComparable(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((entry) => !Array.isArray(entry) && isComparable(entry));
  return typeof value !== 'object' || value instanceof Date || value instanceof Types.ObjectId;
}

/** Whether a record is already as a change would make it. */
export function hasAll(record: object, { set = {}, unset = [] }: StoreChange): boolean {
  const isSame = ([path, value]: readonly [string, unknown]) =>
    JSON.stringify(plain(valueAt(record, path))) === JSON.stringify(plain(value));
  return [...Object.entries(set), ...unset.map((path) => [path, undefined] as const)].every(isSame);
}
