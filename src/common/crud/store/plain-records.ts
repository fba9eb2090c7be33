import { type Model, type Schema, type SchemaType, Types } from 'mongoose';
import type { StoreChange, StoreFilter } from './crud.store.js';
import type { PlainUpdate } from './gathered-updates.js';
import { hasMiddleware, hasOwnValidators } from './own-code.js';

type Fields = Record<string, unknown>;

/** Gives a value in the type of the store; undefined if Mongoose has to cast it. */
type Keep = (value: unknown) => unknown;

/** The values of each type that Mongoose would store as they are. */
const KEPT: Readonly<Record<string, Keep>> = {
  String: (value) => (typeof value === 'string' ? value : undefined),
  Number: (value) => (Number.isFinite(value) ? value : undefined),
  Boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  // A copy, since a date can be changed.
  Date: (value) => (value instanceof Date && !Number.isNaN(value.getTime()) ? new Date(value) : undefined),
  ObjectId: (value) =>
    value instanceof Types.ObjectId ? value : isHexadecimal(value) ? new Types.ObjectId(value) : undefined,
};

/** The part of Mongoose's types that its declaration leaves out. */
interface Inner {
  readonly setters: readonly { readonly name: string }[];
  readonly defaultValue?: unknown;
  readonly validators: readonly unknown[];
  doValidateSync(value: unknown, document: null): Error | null;
}

/** The name of Mongoose's setter of a field that is immutable, which lets everything pass into a new record. */
const IMMUTABLE = 'immutableSetter';

type PathType = SchemaType & Inner;

/** The part of a schema that its declaration leaves out. */
interface WithTimestamps {
  readonly $timestamps?: { readonly createdAt?: string | null; readonly updatedAt?: string | null };
}

/** A record that Mongoose has nothing to do with. */
export interface PlainRecord {
  readonly record: Fields;
  /** Gives the record its timestamps and its revision, as it is stored. */
  readonly stamp: () => Fields;
}

/**
 * Makes the records of a schema as Mongoose would store them, without its documents: of schemas that have nothing but single
 * values in plain types, and no code of anybody's.
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

  /** A new record of the values with its identifier and its defaults; undefined if Mongoose has to look at them. */
  make(values: object): PlainRecord | undefined {
    for (const name of Object.keys(values)) if (!this.types.has(name)) return undefined;
    const record: Fields = {};
    // In the order of the schema, as Mongoose has it.
    for (const [path, type] of this.types) {
      const isGiven = Object.hasOwn(values, path);
      const value = isGiven ? KEPT[type.instance]?.((values as Fields)[path]) : defaultOf(path, type);
      if (value === undefined && isGiven) return undefined;
      if (value !== undefined) record[path] = value;
      if (type.validators.length > 0 && type.doValidateSync(value, null)) return undefined;
    }
    return { record, stamp: () => this.stamp(record) };
  }

  /** A change of one record as Mongoose would carry it out; undefined if Mongoose has to look at it. */
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

  /** A filter of values, as Mongoose would cast it; undefined if Mongoose has to look at it. */
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

  /** The type of a field that an update may set; undefined if Mongoose has a say in it. */
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

/** What a schema may ask of every command, and the driver would not know. */
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
