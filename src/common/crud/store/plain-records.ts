import { type Model, type Schema, type SchemaType, Types } from 'mongoose';
import type { StoreChange, StoreFilter } from './crud.store.js';
import type { PlainUpdate } from './gathered-updates.js';
import { hasMiddleware, hasOwnValidators } from './own-code.js';

type Fields = Record<string, unknown>;

/** Returns a value in the store's type; undefined if Mongoose has to cast it. */
type Keep = (value: unknown) => unknown;

/** The values of each type that Mongoose would store unchanged. */
const KEPT: Readonly<Record<string, Keep>> = {
  String: (value) => (typeof value === 'string' ? value : undefined),
  Number: (value) => (Number.isFinite(value) ? value : undefined),
  Boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  // A copy, since a date can be changed.
  Date: (value) => (value instanceof Date && !Number.isNaN(value.getTime()) ? new Date(value) : undefined),
  ObjectId: (value) =>
    value instanceof Types.ObjectId ? value : isHexadecimal(value) ? new Types.ObjectId(value) : undefined,
};

/** The part of Mongoose's types that their declaration omits. */
interface Inner {
  readonly setters: readonly { readonly name: string }[];
  readonly defaultValue?: unknown;
  readonly validators: readonly unknown[];
  doValidateSync(value: unknown, document: null): Error | null;
}

/** Name of Mongoose's setter for immutable fields, which accepts everything in a new record. */
const IMMUTABLE = 'immutableSetter';

type PathType = SchemaType & Inner;

/** The part of a schema that its declaration omits. */
interface WithTimestamps {
  readonly $timestamps?: { readonly createdAt?: string | null; readonly updatedAt?: string | null };
}

/** A record that is stored without Mongoose. */
export interface PlainRecord {
  readonly record: Fields;
  /** Adds the timestamps and the revision, and returns the record as it is stored. */
  readonly stamp: () => Fields;
}

/**
 * Makes the records of a schema as Mongoose would store them, but without its documents. Only for schemas
 * that have nothing but single values of plain types, and no custom code.
 */
export class PlainRecords {
  private constructor(
    private readonly model: Model<Fields>,
    private readonly types: ReadonlyMap<string, PathType>,
    private readonly timestamps: readonly string[],
    private readonly updatedAt: string | undefined,
  ) {}

  /** @param hidden names of fields that the store itself fills in. @default none */
  static of(model: Model<Fields>, hidden: readonly string[] = []): PlainRecords | undefined {
    const { schema } = model;
    const { createdAt, updatedAt } = (schema as WithTimestamps).$timestamps ?? {};
    const paths = Object.entries(schema.paths).filter(([path]) => !hidden.includes(path) && path !== '__v');
    const types = new Map(paths.map(([path, type]) => [path, type as PathType]));
    const timestamps = [createdAt, updatedAt].filter(isName);
    if (!timestamps.every((name) => types.get(name)?.instance === 'Date')) return undefined;
    if (!isPlainSchema(schema) || ![...types].every(([path, type]) => isPlainPath(path, type)))
      return undefined;
    return new PlainRecords(model, types, timestamps, updatedAt ?? undefined);
  }

  /** A new record of the values with its identifier and defaults; undefined if Mongoose has to handle it. */
  make(values: object): PlainRecord | undefined {
    for (const name of Object.keys(values)) if (!this.types.has(name)) return undefined;
    const record: Fields = {};
    // In the order of the schema, as Mongoose does.
    for (const [path, type] of this.types) {
      const isGiven = Object.hasOwn(values, path);
      const value = isGiven ? KEPT[type.instance]?.((values as Fields)[path]) : defaultOf(path, type);
      if (value === undefined && isGiven) return undefined;
      if (value !== undefined) record[path] = value;
      if (type.validators.length > 0 && type.doValidateSync(value, null)) return undefined;
    }
    return { record, stamp: () => this.stamp(record) };
  }

  /** A change of one record as Mongoose would carry it out; undefined if Mongoose has to handle it. */
  update(filter: StoreFilter, { set = {}, unset = [] }: StoreChange): PlainUpdate | undefined {
    const matching = filter._id instanceof Types.ObjectId ? this.filter(filter) : undefined;
    if (!matching) return undefined;
    const $set: Fields = {};
    for (const [path, given] of Object.entries(set)) {
      const type = this.changeable(path);
      const value = type && KEPT[type.instance]?.(given);
      if (value === undefined || type?.doValidateSync(value, null)) return undefined;
      $set[path] = value;
    }
    const $unset: Fields = {};
    for (const path of unset) {
      const type = this.changeable(path);
      if (!type || type.isRequired) return undefined;
      $unset[path] = 1;
    }
    const update = { $set, ...(unset.length > 0 && { $unset }), $inc: { __v: 1 } };
    return { filter: matching, update, updatedAt: this.updatedAt };
  }

  /** A filter with values as Mongoose would cast them; undefined if Mongoose has to handle it. */
  filter(filter: StoreFilter): Fields | undefined {
    const matching: Fields = {};
    for (const [path, value] of Object.entries(filter)) {
      const type = this.types.get(path);
      const kept = value === null ? null : type && KEPT[type.instance]?.(value);
      if (!type || kept === undefined) return undefined;
      matching[path] = kept;
    }
    return matching;
  }

  /** The type of a field that an update may set; undefined if Mongoose has to handle the field. */
  private changeable(path: string): PathType | undefined {
    const type = this.types.get(path);
    const isOpen = path !== '_id' && !this.timestamps.includes(path) && !type?.options.immutable;
    return isOpen ? type : undefined;
  }

  private stamp(record: Fields): Fields {
    const now = this.model.base.now();
    for (const name of this.timestamps) record[name] ??= new Date(now);
    record.__v = 0;
    return record;
  }
}

/** Schema options that apply to every command, and that the driver would not know. */
const OF_COMMANDS = ['collation', 'read', 'readConcern', 'writeConcern'] as const;

function isPlainSchema(schema: Schema): boolean {
  if (OF_COMMANDS.some((option) => (schema.get(option) ?? undefined) !== undefined)) return false;
  const timestamps: unknown = schema.get('timestamps');
  const hasClock = typeof timestamps === 'object' && timestamps !== null && 'currentTime' in timestamps;
  return !hasClock && !schema.discriminators && !hasMiddleware(schema) && !hasOwnValidators(schema);
}

function isPlainPath(path: string, type: PathType): boolean {
  const { required, cast } = type.options as { required?: unknown; cast?: unknown };
  if (path === '_id') return type.instance === 'ObjectId';
  return (
    type.instance in KEPT &&
    !path.includes('.') &&
    cast === undefined &&
    type.setters.every(({ name }) => name === IMMUTABLE) &&
    (required === undefined || typeof required === 'boolean') &&
    (type.defaultValue === undefined || KEPT[type.instance]?.(type.defaultValue) === type.defaultValue)
  );
}

function defaultOf(path: string, { defaultValue }: PathType): unknown {
  return path === '_id' ? new Types.ObjectId() : defaultValue;
}

function isHexadecimal(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{24}$/i.test(value);
}

function isName(name: string | null | undefined): name is string {
  return typeof name === 'string';
}
