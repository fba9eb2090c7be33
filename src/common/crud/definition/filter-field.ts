import type { Schema, SchemaType } from 'mongoose';
import { Types } from 'mongoose';
import { isObjectId } from '../../ids/index.js';
import { parseTimestamp } from '../../fields/index.js';
import type { FilterKind } from '../query/operators.js';

/** A field that clients can filter by. */
export interface FilterField {
  /** Path, such as `title` or `variants.sku`. */
  readonly path: string;
  readonly kind: FilterKind;
  /** Path of the innermost list of objects that the path leads into, such as `variants`. */
  readonly within?: string;
  /** Noun phrase of the values that it takes, such as "true or false". */
  readonly shape: string;
  /** Values of an enum. */
  readonly values?: readonly (string | number)[];
  /** A value of the store's type; undefined if the text is none. */
  readonly parse: (text: string) => unknown;
}

/** What Mongoose's lists know of their entries. */
type Entries = SchemaType & { readonly embeddedSchemaType?: SchemaType; readonly schema?: Schema };

const NUMBER = /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/;

/**
 * The filter of a field by its type in the schema; undefined if its type can't be filtered by.
 *
 * @param values those that the field's own declaration allows, if it lists them
 */
export function filterFieldOf(
  schema: Schema,
  path: string,
  values: readonly (string | number)[] | undefined,
): FilterField | undefined {
  const declared = schema.path(path) as Entries | undefined;
  if (!declared) return undefined;
  const type = declared.instance === 'Array' ? declared.embeddedSchemaType : declared;
  if (!type || (declared.instance === 'Array' && declared.schema)) return undefined;
  const allowed = values ?? (type.options as { enum?: readonly (string | number)[] }).enum;
  const within = listAround(schema, path);
  const base = { path, ...(within !== undefined && { within }) };
  if (Array.isArray(allowed) && allowed.length > 0) return { ...base, ...enumOf(allowed) };
  const scalar = SCALARS[type.instance];
  return scalar && { ...base, ...scalar };
}

type Scalar = Pick<FilterField, 'kind' | 'shape' | 'parse'>;

const NUMERIC: Scalar = {
  kind: 'number',
  shape: 'a number',
  parse: (text) => {
    const value = NUMBER.test(text) ? Number(text) : Number.NaN;
    return Number.isFinite(value) ? value : undefined;
  },
};

/** Exact values of wide types, made from their digits. */
const exact = (make: (text: string) => unknown, pattern: RegExp, shape: string): Scalar => ({
  kind: 'number',
  shape,
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

const TEXT: Scalar = { kind: 'string', shape: 'a text', parse: (text) => text };

/** By the name of Mongoose's type. */
const SCALARS: Readonly<Partial<Record<string, Scalar>>> = {
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
    'a whole number',
  ),
  Decimal128: exact((text) => Types.Decimal128.fromString(text), NUMBER, 'a number'),
  Date: {
    kind: 'timestamp',
    shape: 'a timestamp as in RFC 3339, such as 2026-12-31T12:00:00Z ("+" is written %2B)',
    parse: parseTimestamp,
  },
  Boolean: {
    kind: 'boolean',
    shape: 'true or false',
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  },
  ObjectId: {
    kind: 'identifier',
    shape: '24 hexadecimal digits',
    parse: (text) => (isObjectId(text) ? new Types.ObjectId(text) : undefined),
  },
};

function enumOf(values: readonly (string | number)[]): Omit<FilterField, 'path'> {
  const byText = new Map(values.map((value) => [String(value), value]));
  return {
    kind: 'enum',
    shape: `one of ${[...byText.keys()].join(', ')}`,
    values,
    parse: (text) => byText.get(text),
  };
}

/** The innermost list of objects that a path leads into. */
function listAround(schema: Schema, path: string): string | undefined {
  const names = path.split('.');
  const prefixes = names.slice(1).map((_, i) => names.slice(0, i + 1).join('.'));
  return prefixes.findLast((prefix) => (schema.path(prefix) as SchemaType | undefined)?.instance === 'Array');
}
