import { type Model, mongo, type Query, type QueryOptions, type Types } from 'mongoose';
import {
  Batches,
  type Database,
  OPERATION_LIMITS,
  STREAM_BATCH,
  STREAM_BATCH_BYTES,
} from '../../database/index.js';
import { isPlainObject } from '../../fields/index.js';
import type { Stored } from '../options/records.js';
import { allOf, type Fields, type StoreFilter, type StoreRead } from '../schema/store-types.js';

const { deserialize, serialize } = mongo.BSON;

/** https://www.mongodb.com/docs/manual/reference/error-codes/ */
const BAD_VALUE = 2;

const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

type Sort = NonNullable<StoreRead['sort']>;

/** Reads records in an order, along its index: as pages, or as streams that are read as they are consumed. */
export class OrderedReads {
  private readonly indexes: ReadonlySet<string>;
  /** Size of a record in lists. Unit: bytes. */
  private recordBytes?: number;

  /** @param projectionOf the projection of some fields, or of everything that clients may see */
  constructor(
    private readonly model: Model<Fields>,
    private readonly database: Database,
    private readonly projectionOf: (fields: readonly string[] | undefined) => Record<string, 0 | 1> | null,
  ) {
    const whole = model.schema.indexes().filter(([, options]) => !options.partialFilterExpression);
    this.indexes = new Set(whole.map(([keys]) => JSON.stringify(keys)));
  }

  find(filter: StoreFilter, { ranges, ...read }: StoreRead): AsyncIterable<Stored<object>> {
    const hint = this.hintOf(filter, read.sort ?? NEWEST_FIRST);
    return ranges ? this.findInRanges(filter, ranges, read, hint) : this.findAll(filter, read, hint);
  }

  /** Without a condition the server would read every record. With the hint, it counts the keys of the index. */
  countHint(filter: StoreFilter): { readonly hint?: Record<string, 1 | -1> } {
    const countsIndex = Object.keys(filter).length === 0 && this.indexes.has(JSON.stringify(NEWEST_FIRST));
    return countsIndex ? { hint: { ...NEWEST_FIRST } } : {};
  }

  private async *findInRanges(
    filter: StoreFilter,
    ranges: readonly StoreFilter[],
    { limit = Infinity, sort = NEWEST_FIRST, ...read }: StoreRead,
    hint: Sort | undefined,
  ): AsyncGenerator<Stored<object>, void, undefined> {
    const end = performance.now() + OPERATION_LIMITS.maxTimeMS;
    let left = limit;
    for (const range of ranges) {
      if (left === 0) return;
      const maxTimeMS = Math.max(1, Math.floor(end - performance.now()));
      const part = { ...read, sort: restOf(sort, range), ...(limit < Infinity && { limit: left }) };
      for await (const record of this.findAll(allOf(filter, range), part, hint, maxTimeMS)) {
        left -= 1;
        yield record;
      }
    }
  }

  /** Reads with a hint. If the index was dropped since the start, the read only gets slower. */
  private async *findAll(
    filter: StoreFilter,
    read: StoreRead,
    hint: Sort | undefined,
    maxTimeMS: number = OPERATION_LIMITS.maxTimeMS,
  ): AsyncGenerator<Stored<object>, void, undefined> {
    const options = { ...this.database.limits, maxTimeMS };
    try {
      yield* this.open(filter, read, { ...options, ...(hint && { hint: { ...hint } }) });
    } catch (error) {
      if (!hint || !isHintRejected(error)) throw error;
      yield* this.open(filter, read, options);
    }
  }

  private open(
    filter: StoreFilter,
    { sort = NEWEST_FIRST, fields, skip, limit }: StoreRead,
    { maxTimeMS, ...options }: QueryOptions,
  ): AsyncIterable<Stored<object>> {
    const query = filtered(this.model.find({}, this.projectionOf(fields)), filter)
      .sort({ ...sort })
      .setOptions(options)
      .lean();
    // A whole stream may take longer than one operation; the socket's time-out limits each of its steps. It must not
    // have a limit of 0 either: the driver would request ever larger batches.
    if (limit !== undefined) query.setOptions({ maxTimeMS, skip, limit });
    const batchSize = limit === undefined ? this.streamBatch() : limit + 1;
    return this.database.iterate<Stored<object>>(
      () => query.cursor({ batchSize }) as never,
      fields ? undefined : (record) => (this.recordBytes = followSize(this.recordBytes, bytesOf(record))),
    );
  }

  /** Every list in transfer holds a batch, for as long as its client takes. */
  private streamBatch(): number {
    const fitting = Math.floor(STREAM_BATCH_BYTES / (this.recordBytes ?? 1));
    return Math.min(Math.max(fitting, 1), STREAM_BATCH);
  }

  /** The index of an order without conditions: for a short range, which any index suits, the server would sort. */
  private hintOf({ $and = [], ...equalities }: StoreFilter, sort: Sort): Sort | undefined {
    const isEquality = (value: unknown) => !isPlainObject(value) || Object.keys(value).join() === '$eq';
    const hasConditions = ($and as readonly StoreFilter[]).length > 0;
    if (hasConditions || !Object.values(equalities).every(isEquality)) return undefined;
    const prefix = Object.fromEntries(Object.keys(equalities).map((path) => [path, 1 as const]));
    const reverse = Object.fromEntries(
      Object.entries(sort).map(([path, direction]) => [path, direction === 1 ? -1 : 1] as const),
    );
    const candidates = [sort, reverse].map((keys) => ({ ...prefix, ...keys }));
    return candidates.find((keys) => this.indexes.has(JSON.stringify(keys)));
  }
}

/** Whether the server rejected a hint because it has no such index. */
function isHintRejected(error: unknown): boolean {
  return (
    error instanceof mongo.MongoServerError && error.code === BAD_VALUE && error.message.includes('hint')
  );
}

/** The sort keys that a range does not fix to one value: with the fixed ones, the server would sort in memory. */
function restOf(sort: Sort, range: StoreFilter): Sort {
  const isFixed = (path: string) => '$eq' in ((range[path] as object | undefined) ?? {});
  return Object.fromEntries(Object.entries(sort).filter(([path]) => !isFixed(path)));
}

/** Approximate size of a value in memory, which depends mostly on its strings. Unit: bytes. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Object.values(value).reduce((sum: number, member) => sum + bytesOf(member), 16);
}

/** How fast a known size shrinks: the weight of a smaller new one. */
const FORGETTING = 0.2;

/** Follows the sizes it is given: up at once, down slowly. Unit: bytes. */
export function followSize(known: number | undefined, size: number): number {
  return known === undefined || size > known ? size : known + (size - known) * FORGETTING;
}

const exact = new WeakSet<StoreFilter>();

/** Marks a condition whose values have the store's types and must reach the database unchanged. */
export function exactly(condition: StoreFilter): StoreFilter {
  exact.add(condition);
  return condition;
}

/** Gives a query its filter. Mongoose casts it, except for exact conditions, whose values setters would change. */
// Mongoose's own type parameters for a query with any result.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export function filtered<Q extends Query<any, any>>(query: Q, filter: StoreFilter): Q {
  const { $and = [], ...rest } = filter as { $and?: readonly StoreFilter[] };
  const kept = $and.filter((condition) => exact.has(condition));
  const others = $and.filter((condition) => !exact.has(condition));
  query.setQuery({ ...rest, ...(others.length > 0 && { $and: others }) });
  if (kept.length === 0) return query;
  query.cast(query.model);
  const { $and: cast = [], ...equalities } = query.getFilter() as { $and?: readonly StoreFilter[] };
  query.setQuery({ ...equalities, $and: [...cast, ...kept] });
  query.cast = () => query.getFilter();
  return query;
}

/** Maximum number of records that one command reads by their identifiers. Unit: records. */
const MAX_IDS = 1_000;

/** How many commands of a kind read records by identifier at the same time: one is on its way while another returns. */
const AT_ONCE = 2;

/** A predicate of records that are looked up by their identifiers, and the paths to read. */
export interface Lookup {
  readonly predicate: StoreFilter;
  readonly fields?: readonly string[];
}

/** Reads by identifier that share commands, each caller with its own copy; undefined in place of a missing record. */
export type SharedLookups = Batches<Lookup & { readonly id: Types.ObjectId }, Stored<object> | undefined>;

/** @param readByIds reads the records with the identifiers that match, with one command */
export function sharedLookups(
  readByIds: (lookup: Lookup, ids: readonly Types.ObjectId[]) => Promise<readonly Stored<object>[]>,
  { metrics }: Database,
): SharedLookups {
  return new Batches(
    async (wanted) => {
      const keys = wanted.map(({ id }) => id.toHexString());
      const ids = new Map(wanted.map(({ id }, i) => [keys[i], id] as const));
      const found = await readByIds(wanted[0] as Lookup, [...ids.values()]);
      const records = new Map(found.map((record) => [record._id.toHexString(), record] as const));
      const isRepeated = ids.size < wanted.length;
      return keys.map((key) => {
        const record = records.get(key);
        return record && isRepeated ? copyOf(record) : record;
      });
    },
    { max: MAX_IDS, atOnce: AT_ONCE, onStep: (size) => metrics.batch('reads', size) },
  );
}

/**
 * Returns the same text for equivalent reads and no others, so that different scopes, filters, orders or projections are
 * never combined: the bytes as the database receives them, and which of the conditions are sent unchanged.
 *
 * @param how everything that a read depends on besides its filter
 */
export function kindOf(filter: StoreFilter, how: object): string {
  const { $and = [] } = filter as { $and?: readonly StoreFilter[] };
  const kind = { filter, exact: $and.map((condition) => exact.has(condition)), how };
  // As the driver does: a member that is undefined is sent as null.
  const bytes = serialize(kind, { ignoreUndefined: false, serializeFunctions: true });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** A deep copy of a record, since readers may change what they receive. */
export function copyOf<Record extends object>(record: Record): Record {
  return deserialize(serialize(record)) as Record;
}
