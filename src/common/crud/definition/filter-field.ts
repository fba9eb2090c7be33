import { type Schema, type SchemaType, Types } from 'mongoose';
import { type JsonSchema, parseTimestamp } from '../../fields/index.js';
import { isObjectId, OBJECT_ID_INPUT_PATTERN } from '../../ids/index.js';
import type { FilterKind } from '../query/list-query.js';
import { entryTypeOf, schemaOf } from './hidden-fields.js';

/** A field that clients can filter by. */
export interface FilterField {
  /** Path, such as `title` or `variants.sku`. */
  readonly path: string;
  readonly kind: FilterKind;
  /** Path of the innermost list of objects on the path, such as `variants`. */
  readonly within?: string;
  /** Noun phrase for the accepted values, such as "true or false". */
  readonly shape: string;
  /** Whether the field is a list or inside one, so that any entry may match. */
  readonly isList: boolean;
  /** OpenAPI 3.0 schema of its values. */
  readonly schema: JsonSchema;
  /** An example value, as a client writes it in a URL. */
  readonly example: string;
  /** Converts a string to a value of the store's type; undefined if that is not possible. */
  readonly parse: (text: string) => unknown;
}

const NUMBER = /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/;

/**
 * The filter of a field, by its type in the schema; undefined if the type cannot be filtered by.
 *
 * @param values that the field's own declaration allows, if it lists them
 */
export function filterFieldOf(
  schema: Schema,
  path: string,
  values: readonly (string | number)[] | undefined,
): FilterField | undefined {
  const declared = schema.path(path) as SchemaType | undefined;
  if (!declared || isOpen(schema, path) || schemaOf(declared)) return undefined;
  const type = entryTypeOf(declared) ?? declared;
  const allowed = values ?? (type.options as { enum?: readonly (string | number)[] }).enum;
  const within = listsOn(schema, path).findLast((outer) => outer !== path);
  const isList = declared.instance === 'Array' || within !== undefined;
  const base = { path, isList, ...(within !== undefined && { within }) };
  if (Array.isArray(allowed) && allowed.length > 0) return { ...base, ...enumOf(allowed) };
  const scalar = SCALARS[type.instance];
  return scalar && { ...base, ...scalar };
}

type Scalar = Pick<FilterField, 'kind' | 'shape' | 'schema' | 'example' | 'parse'>;

const NUMERIC: Scalar = {
  kind: 'number',
  shape: 'a number',
  schema: { type: 'number' },
  example: '12',
  parse: (text) => {
    const value = NUMBER.test(text) ? Number(text) : Number.NaN;
    return Number.isFinite(value) ? value : undefined;
  },
};

/** Keeps exact the values of wide types by making them from their digits. */
const exact = (
  make: (text: string) => unknown,
  pattern: RegExp,
  described: Pick<Scalar, 'shape' | 'schema' | 'example'>,
): Scalar => ({
  kind: 'number',
  ...described,
  parse: (text) => {
    if (!pattern.test(text)) return undefined;
    try {
      return make(text);
    } catch {
      return undefined;
    }
  },
});

const WHOLE = /^-?\d{1,19}$/;
const INT_64 = [-(2n ** 63n), 2n ** 63n - 1n] as const;

const TEXT: Scalar = {
  kind: 'string',
  shape: 'a text',
  schema: { type: 'string' },
  example: 'tea',
  parse: (text) => text,
};

/** How single values are read, by the name of the Mongoose type. */
export const SCALARS: Readonly<Partial<Record<string, Scalar>>> = {
  String: TEXT,
  Number: NUMERIC,
  Double: NUMERIC,
  Int32: NUMERIC,
  BigInt: exact(
    (text) => {
      const value = BigInt(text);
      return value >= INT_64[0] && value <= INT_64[1] ? value : undefined;
    },
    WHOLE,
    { shape: 'a whole number', schema: { type: 'string', format: 'int64' }, example: '12' },
  ),
  Decimal128: exact((text) => Types.Decimal128.fromString(text), NUMBER, {
    shape: 'a number',
    schema: { type: 'string', format: 'decimal' },
    example: '12.50',
  }),
  Date: {
    kind: 'timestamp',
    shape: 'a timestamp as in RFC 3339, such as 2026-12-31T12:00:00Z ("+" is written %2B)',
    schema: { type: 'string', format: 'date-time' },
    example: '2026-12-31T12:00:00Z',
    parse: parseTimestamp,
  },
  Boolean: {
    kind: 'boolean',
    shape: 'true or false',
    schema: { type: 'boolean' },
    example: 'true',
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  },
  ObjectId: {
    kind: 'identifier',
    shape: '24 hexadecimal digits',
    schema: { type: 'string', pattern: OBJECT_ID_INPUT_PATTERN },
    example: '665f1c2ab7e3a90d4c8b4567',
    parse: (text) => (isObjectId(text) ? new Types.ObjectId(text) : undefined),
  },
};

function enumOf(values: readonly (string | number)[]): Scalar {
  const byText = new Map(values.map((value) => [String(value), value]));
  return {
    kind: 'enum',
    shape: `one of ${[...byText.keys()].join(', ')}`,
    schema: { type: typeof values[0] === 'number' ? 'number' : 'string', enum: [...values] },
    example: String(values[0]),
    parse: (text) => byText.get(text),
  };
}

/** Whether a path leads into a map or an open object, where names are data. */
function isOpen(schema: Schema, path: string): boolean {
  const names = path.split('.');
  const prefixes = names.slice(1).map((_, i) => names.slice(0, i + 1).join('.'));
  return prefixes.some((prefix) =>
    ['Map', 'Mixed'].includes((schema.path(prefix) as SchemaType | undefined)?.instance ?? ''),
  );
}

/** Whether a schema hides a path from clients: `select: false` on it or above it, or the revision. */
export function isHidden(schema: Schema, path: string): boolean {
  const names = path.split('.');
  const prefixes = names.map((_, i) => names.slice(0, i + 1).join('.'));
  return prefixes.some(
    (prefix) =>
      (schema.path(prefix) as SchemaType | undefined)?.options.select === false ||
      prefix === schema.get('versionKey'),
  );
}

/** Whether a schema has a path. Mongoose itself accepts positions in lists as well. */
export function isDeclared(schema: Schema, path: string): boolean {
  const isPosition = path.split('.').some((name) => /^\d+$/.test(name));
  const type = schema.path(path) as SchemaType | undefined;
  return !isPosition && (type !== undefined || schema.pathType(path) === 'nested');
}

/** The lists that a path leads into or ends at, the outermost first. */
export function listsOn(schema: Schema, path: string): string[] {
  const names = path.split('.').filter((name) => !/^\d+$/.test(name));
  const prefixes = names.map((_, i) => names.slice(0, i + 1).join('.'));
  return prefixes.filter((prefix) => entryTypeOf(schema.path(prefix)));
}
