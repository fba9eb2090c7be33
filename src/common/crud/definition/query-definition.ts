import { type Schema, type SchemaType, Types } from 'mongoose';
import { fieldAt, type JsonSchema, parseTimestamp, schemaOf as entitySchemaOf } from '../../fields/index.js';
import { isObjectId, OBJECT_ID_INPUT_PATTERN } from '../../ids/index.js';
import type { CrudFieldRule, CrudQueryOptions } from '../options/crud-options.js';
import type { FilterKind } from '../query/list-query.js';
import { type SearchDefinition, searchDefinition } from '../search/words.js';
import { entryTypeOf, isDeclared, isHidden, isInMap, listsOn, schemaOf } from './schema-paths.js';
import type { CrudDefinition, ReferenceDefinition } from './crud-definition.js';
import { KIND } from './kinds.js';
import { showsStored } from './output.js';

/** A key of an order: the path of a field, and the direction. */
export interface SortKey {
  readonly path: string;
  readonly descending: boolean;
}

/** An order of records: the keys that a client names, without `_id`. */
export interface Order {
  readonly keys: readonly SortKey[];
  /** The order as a client writes it, such as `completed,-dueAt`. */
  readonly text: string;
}

/** Newest first: the order of a list if the query names none. */
export const NEWEST_FIRST: Order = orderOf(['-createdAt']);

/** Makes an order from keys such as `-createdAt`, for the `order` of a list's query. */
export function orderOf(keys: readonly string[]): Order {
  return {
    text: keys.join(),
    keys: keys.map((key) =>
      key.startsWith('-') ? { path: key.slice(1), descending: true } : { path: key, descending: false },
    ),
  };
}

export function sortsBy({ keys }: Order, field: string | undefined): boolean {
  return keys.some(({ path }) => path === field);
}

export function reverseOf({ keys }: Order): Order {
  return orderOf(keys.map(({ path, descending }) => (descending ? path : `-${path}`)));
}

/**
 * The order in the form that the store sorts and indexes by. `_id` breaks ties, in the direction of the last
 * key, since values repeat: `createdAt` does within a millisecond.
 */
export function sortOf({ keys }: Order): Record<string, 1 | -1> {
  const sort = Object.fromEntries(keys.map(({ path, descending }) => [path, descending ? -1 : 1] as const));
  return { ...sort, _id: keys.at(-1)?.descending ? -1 : 1 };
}

/** A field that clients can filter by. */
export interface FilterField {
  /** Path, such as `title` or `variants.sku`. */
  readonly path: string;
  readonly kind: FilterKind;
  /** The field of another resource that it is. @default one of its own */
  readonly referred?: Referred;
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

/** A field of the records that a reference names, such as `name` of the category in `category.name`. */
export interface Referred {
  readonly reference: ReferenceDefinition;
  readonly field: FilterField;
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
  if (!declared || isInMap(schema, path) || schemaOf(declared)) return undefined;
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

function int64Of(text: string): bigint | undefined {
  const value = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  return value === undefined || BigInt.asIntN(64, value) === value ? value : undefined;
}

function decimalOf(text: string): Types.Decimal128 | undefined {
  try {
    return NUMBER.test(text) ? Types.Decimal128.fromString(text) : undefined;
  } catch {
    // It has more digits than the type.
    return undefined;
  }
}

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
  BigInt: {
    kind: 'number',
    shape: 'a whole number',
    schema: { type: 'string', format: 'int64' },
    example: '12',
    parse: int64Of,
  },
  Decimal128: {
    kind: 'number',
    shape: 'a number',
    schema: { type: 'string', format: 'decimal' },
    example: '12.50',
    parse: decimalOf,
  },
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

/** Filters and orders that a client can use. */
export interface Offered {
  /** The fields to filter by, by path. */
  readonly filters: ReadonlyMap<string, FilterField>;
  /** The orders of the options and their reverses, by text. */
  readonly orders: ReadonlyMap<string, Order>;
}

/** Filters, orders and searches that clients of a resource can use in a query. */
export interface QueryDefinition extends Offered {
  /** The filters and orders for live records, which have no archive date. */
  readonly live: Offered;
  /** The orders that have an index, which also serves the reverse. The first one is the default. */
  readonly indexed: readonly Order[];
  /** Whether a filter is a field of another resource. */
  readonly isReferring: boolean;
  /** The fields that `q` searches; undefined if the resource cannot be searched. */
  readonly search?: SearchDefinition;
}

/** The definition of the option `query`. Checks that every path is in the schema and visible to clients. */
export function queryDefinition(definition: CrudDefinition): QueryDefinition {
  const { archive, kinds, options, scopes } = definition;
  const {
    filter = [],
    sort = [],
    search = [],
  }: CrudQueryOptions<Record<string, unknown>> = options.query ?? {};
  const kind = kinds && showsStored(options.output, KIND) === true ? [KIND] : [];
  const filters = new Map(
    [...kind, ...filter].map((path) => [path, requireFilter(path, definition)] as const),
  );
  for (const path of search) requireSearchable(path, definition);
  const declared = sort.map((keys) => orderOf(typeof keys === 'string' ? [keys] : keys));
  for (const { keys } of declared) for (const { path } of keys) requireSortable(path, definition);
  const indexed = unique([NEWEST_FIRST, ...declared]);
  const orders = indexed.flatMap((order) => [order, reverseOf(order)]);
  const offered = { filters, orders: new Map(orders.map((order) => [order.text, order])) };
  return {
    ...offered,
    indexed,
    live: narrowed(offered, (path) => path !== archive?.field),
    isReferring: [...filters.values()].some(({ referred }) => referred !== undefined),
    search: searchDefinition([...new Set(search)], scopes),
  };
}

/** The filters and orders of some fields only. */
export function narrowed({ filters, orders }: Offered, isOffered: (path: string) => boolean): Offered {
  return {
    filters: new Map([...filters].filter(([path]) => isOffered(path))),
    orders: new Map([...orders].filter(([, { keys }]) => keys.every(({ path }) => isOffered(path)))),
  };
}

/** The orders, without those that another one already serves. */
function unique(orders: readonly Order[]): Order[] {
  const seen = new Set<string>();
  return orders.filter((order) => {
    if (seen.has(order.text)) return false;
    seen.add(order.text).add(reverseOf(order).text);
    return true;
  });
}

function requireFilter(path: string, definition: CrudDefinition): FilterField {
  const { entity, fail, references, schema } = definition;
  const reference = references.find((one) => path.startsWith(`${one.path}.`));
  if (reference) return requireReferred(path, reference, definition);
  requireShown(path, 'query.filter', definition);
  const found = filterFieldOf(schema, path, fieldAt(entity, path)?.values);
  if (found) return found;
  return fail(
    `query.filter names "${path}", which is no single value. Filter by a text, number, timestamp, boolean, identifier or enum, or by a list of those.`,
  );
}

/** The start checks the rest once the other resource is known: {@link checkReferred}. */
function requireReferred(
  path: string,
  reference: ReferenceDefinition,
  definition: CrudDefinition,
): FilterField {
  requireShown(reference.path, 'query.filter', definition);
  const { to } = reference;
  const name = path.slice(reference.path.length + 1);
  const field = filterFieldOf(entitySchemaOf(to), name, fieldAt(to, name)?.values);
  if (field) return { ...field, path, within: undefined, referred: { reference, field } };
  return definition.fail(`query.filter names "${path}", which is no single value of the class ${to.name}.`);
}

/** Checks that clients see the fields of another resource that they can filter by. */
export function checkReferred({ query, fail }: CrudDefinition, target: CrudDefinition): void {
  const rules = target.options.fields as Readonly<Record<string, CrudFieldRule>> | undefined;
  for (const [path, { referred }] of query.filters) {
    if (referred?.reference.to !== target.entity) continue;
    requireShown(referred.field.path, `query.filter has "${path}": it`, target, fail);
    if (rules?.[referred.field.path.split('.', 1)[0] ?? '']?.read)
      fail(`query.filter has "${path}", which only some callers see, by the option fields. Leave it out.`);
  }
}

function requireSortable(path: string, definition: CrudDefinition): void {
  requireShown(path, 'query.sort', definition);
  const field = filterFieldOf(definition.schema, path, undefined);
  if (path === '_id' || !field || field.isList)
    definition.fail(`query.sort names "${path}", which has no order. Sort by a single value other than _id.`);
}

function requireSearchable(path: string, definition: CrudDefinition): void {
  requireShown(path, 'query.search', definition);
  const { fail, schema } = definition;
  const type = schema.path(path) as SchemaType | undefined;
  if (isInMap(schema, path) || (entryTypeOf(type) ?? type)?.instance !== 'String')
    fail(`query.search names "${path}", which is no text. Search a text or a list of texts.`);
}

/** Clients must not be able to guess the values of hidden fields through filters and orders. */
function requireShown(
  path: string,
  option: string,
  { schema, options, fail: failOfOwn }: CrudDefinition,
  fail = failOfOwn,
): void {
  if (!isDeclared(schema, path)) fail(`${option} names "${path}", which the schema does not have.`);
  const shows = showsStored(options.output, path);
  if (isHidden(schema, path) || shows === false)
    fail(`${option} names "${path}", which clients do not see: its values could be guessed. Leave it out.`);
  if (shows === 'unknown') {
    fail(
      `${option} names "${path}", which the function of output may hide from a caller, who could guess its values. Leave it out, or write output: { from, hides: [] } with the names of all fields that the function hides or changes.`,
    );
  }
}
