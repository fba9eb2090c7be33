import { mongo, type Types } from 'mongoose';
import { Batches, type BatchKind, sharing } from '../../database/index.js';
import type { Stored } from '../options/records.js';
import type { StoreFilter } from './crud.store.js';
import { isExact } from './ordered-reads.js';

const { deserialize, serialize } = mongo.BSON;

/** Maximum number of records that one command reads by their identifiers. Unit: records. */
const MAX_IDS = 1_000;

/**
 * How many commands of a kind read records by identifier at the same time: one is on its way while another
 * returns.
 */
const AT_ONCE = 2;

/** Records to look up by their identifiers and one predicate. */
export interface Lookup {
  readonly predicate: StoreFilter;
  readonly fields?: readonly string[];
}

/** Reads records by their identifiers with one command. */
export type ReadByIds<Entity> = (
  lookup: Lookup,
  ids: readonly Types.ObjectId[],
) => Promise<readonly Stored<Entity>[]>;

interface Wanted extends Lookup {
  readonly id: Types.ObjectId;
}

/**
 * Reads of a collection that share commands: a read that arrives while a command of its kind is in flight
 * goes with the next one. Reads by identifier are of one kind if they differ in nothing else, other reads if
 * they are equal, so that different scopes, filters, orders or projections are never combined.
 */
export class ReadBatches<Entity> {
  private readonly lookups: Batches<Wanted, Stored<Entity> | undefined>;
  private readonly equals: Batches<() => Promise<unknown>, unknown>;

  /** @param counted receives the number of reads that each command serves */
  constructor(
    private readonly readByIds: ReadByIds<Entity>,
    counted: (kind: BatchKind, size: number) => void,
  ) {
    const begun = (size: number) => counted('reads', size);
    this.lookups = new Batches((wanted) => this.lookUp(wanted), { max: MAX_IDS, atOnce: AT_ONCE, begun });
    this.equals = sharing<unknown>({ begun: (size) => counted('equals', size) });
  }

  /**
   * The records that have the identifiers and match, each caller with its own copy; undefined in place of
   * missing ones.
   */
  byIds(
    { predicate, fields }: Lookup,
    ids: readonly Types.ObjectId[],
  ): Promise<(Stored<Entity> | undefined)[]> {
    const kind = kindOf(predicate, { fields });
    return Promise.all(ids.map((id) => this.lookups.add({ predicate, fields, id }, kind)));
  }

  /**
   * The result of a read that the filter and `how` fully describe, shared by all callers who asked for it
   * before it began.
   */
  share<Result>(filter: StoreFilter, how: object, read: () => Promise<Result>): Promise<Result> {
    return this.equals.add(read, kindOf(filter, how)) as Promise<Result>;
  }

  private async lookUp(wanted: readonly Wanted[]): Promise<(Stored<Entity> | undefined)[]> {
    const ids = new Map(wanted.map(({ id }) => [id.toHexString(), id] as const));
    const found = await this.readByIds(wanted[0] as Wanted, [...ids.values()]);
    const records = new Map(found.map((record) => [record._id.toHexString(), record] as const));
    const given = new Set<string>();
    return wanted.map(({ id }) => {
      const key = id.toHexString();
      const record = records.get(key);
      if (!record) return undefined;
      if (given.has(key)) return copyOf(record);
      given.add(key);
      return record;
    });
  }
}

/**
 * Returns the same text for equivalent predicates and no others: their bytes as the database receives them,
 * and which of the conditions are sent unchanged.
 */
function kindOf(filter: StoreFilter, how: object): string {
  const { $and = [] } = filter as { $and?: readonly StoreFilter[] };
  const kind = { filter, exact: $and.map(isExact), how };
  // As the driver does: a member that is undefined is sent as null.
  const { buffer, byteOffset, length } = serialize(kind, {
    ignoreUndefined: false,
    serializeFunctions: true,
  });
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}

/** A deep copy of a record, since readers may change what they receive. */
export function copyOf<Record extends object>(record: Record): Record {
  return deserialize(serialize(record)) as Record;
}
