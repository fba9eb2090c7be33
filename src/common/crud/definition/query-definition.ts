import { Types } from 'mongoose';
import { fieldAt, type JsonSchema, parseTimestamp, schemaOf as entitySchemaOf } from '../../fields/index.js';
import { isObjectId, OBJECT_ID_INPUT_PATTERN } from '../../ids/index.js';
import { fieldSets } from '../../tenancy/index.js';
import { failIf } from '../options/checks.js';
import { type SearchDefinition, searchDefinition } from '../search/words.js';
import {
  isDeclared,
  isHidden,
  isInMap,
  listsOn,
  schemaOf,
  topOf,
  valueTypeAt,
} from '../schema/schema-paths.js';
import type { CrudDefinition, ReferenceDefinition } from './crud-definition.js';
import { KIND } from './kinds.js';
import { showsStored } from './output.js';

/** The kinds of fields that a query can filter by. */
export type FilterKind = 'string' | 'number' | 'timestamp' | 'boolean' | 'identifier' | 'enum';

/** Bounds of the paging parameters. Unit: records. */
export const PAGE_LIMITS = {
  offset: { minimum: 0, default: 0 },
  limit: { minimum: 1, maximum: 100, default: 20 },
} as const;

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
    keys: keys.map((key) => ({ path: key.replace(/^-/, ''), descending: key.startsWith('-') })),
  };
}

export function reverseOf({ keys }: Order): Order {
  return orderOf(keys.map(({ path, descending }) => (descending ? path : `-${path}`)));
}

/** The keys that the store sorts and indexes by. `_id` breaks ties: `createdAt` repeats within a millisecond. */
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

/** The filter of a field, by its declaration and its type in the schema; undefined if the type cannot be filtered by. */
export function filterFieldOf(
  { entity, schema }: Pick<CrudDefinition, 'entity' | 'schema'>,
  path: string,
): FilterField | undefined {
  const type = valueTypeAt(schema, path);
  if (!type || isInMap(schema, path) || schemaOf(type)) return undefined;
  const { enum: stored } = type.options as { enum?: readonly (string | number)[] };
  const allowed = fieldAt(entity, path)?.values ?? stored;
  const lists = listsOn(schema, path);
  const within = lists.findLast((outer) => outer !== path);
  const base = { path, isList: lists.length > 0, ...(within !== undefined && { within }) };
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

/** How single values are read, by the name of the Mongoose type. */
export const SCALARS: Readonly<Partial<Record<string, Scalar>>> = {
  String: {
    kind: 'string',
    shape: 'a text',
    schema: { type: 'string' },
    example: 'tea',
    parse: (text) => text,
  },
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
  const { archive, kinds, options } = definition;
  const { filter = [], sort = [], search = [] } = options.query ?? {};
  const kind = kinds && showsStored(definition, KIND) === true ? [KIND] : [];
  const filters = new Map<string, FilterField>();
  for (const path of [...kind, ...filter]) filters.set(path, requireFilter(path, definition));
  for (const path of search) requireSearchable(path, definition);
  const declared = sort.map((keys) => orderOf([keys].flat()));
  for (const { keys } of declared) for (const { path } of keys) requireSortable(path, definition);
  const indexed: Order[] = [];
  const orders = new Map<string, Order>();
  for (const order of [NEWEST_FIRST, ...declared]) {
    // The index of another order, or of its reverse, serves it already.
    if (orders.has(order.text)) continue;
    indexed.push(order);
    for (const either of [order, reverseOf(order)]) orders.set(either.text, either);
  }
  return {
    filters,
    orders,
    indexed,
    live: narrowed({ filters, orders }, (path) => path !== archive?.field),
    isReferring: [...filters.values()].some(({ referred }) => referred !== undefined),
    search: searchDefinition([...new Set(search)], scopesOf(definition)),
  };
}

/** The sets of fields that lists and counts of live records are filtered by. */
function scopesOf({ visible, isolation, archive }: CrudDefinition): readonly (readonly string[])[] {
  const live = [...Object.keys(visible), ...(archive ? [archive.field] : [])];
  const sets = [isolation.get, isolation.count].flatMap((fields) => fieldSets(fields));
  const scopes = sets.map((set) => [...live, ...set]);
  return [...new Map(scopes.map((fields) => [fields.toSorted().join(), fields])).values()];
}

/** The filters and orders of some fields only. */
export function narrowed({ filters, orders }: Offered, isOffered: (path: string) => boolean): Offered {
  return {
    filters: new Map([...filters].filter(([path]) => isOffered(path))),
    orders: new Map([...orders].filter(([, { keys }]) => keys.every(({ path }) => isOffered(path)))),
  };
}

/** A path may lead to a field of another resource. {@link checkReferred} checks the rest of it once that is known. */
function requireFilter(path: string, definition: CrudDefinition): FilterField {
  const { fail, references } = definition;
  const reference = references.find((one) => path.startsWith(`${one.path}.`));
  requireShown(reference?.path ?? path, 'query.filter', definition);
  const reject = (rest: string) => fail(`query.filter names "${path}", which is no single value${rest}`);
  const kinds = 'a text, number, timestamp, boolean, identifier or enum, or by a list of those';
  if (!reference) return filterFieldOf(definition, path) ?? reject(`. Filter by ${kinds}.`);
  const { to } = reference;
  const target = { entity: to, schema: entitySchemaOf(to) };
  const name = path.slice(reference.path.length + 1);
  const field = filterFieldOf(target, name) ?? reject(` of the class ${to.name}.`);
  return { ...field, path, within: undefined, referred: { reference, field } };
}

/** Checks that clients see the fields of another resource that they can filter by. */
export function checkReferred({ query, fail }: CrudDefinition, target: CrudDefinition): void {
  for (const [path, { referred }] of query.filters) {
    if (referred?.reference.to !== target.entity) continue;
    const { path: name } = referred.field;
    requireShown(name, `query.filter has "${path}": it`, target, fail);
    if (target.options.fields?.[topOf(name)]?.read)
      fail(`query.filter has "${path}", which only some callers see, by the option fields. Leave it out.`);
  }
}

function requireSortable(path: string, definition: CrudDefinition): void {
  requireShown(path, 'query.sort', definition);
  const field = filterFieldOf(definition, path);
  // Cursors compare values of one type only.
  const isMixed = valueTypeAt(definition.schema, path)?.instance === 'Mixed';
  if (path === '_id' || !field || field.isList || isMixed)
    definition.fail(`query.sort names "${path}", which has no order. Sort by a single value other than _id.`);
}

function requireSearchable(path: string, definition: CrudDefinition): void {
  requireShown(path, 'query.search', definition);
  const { fail, schema } = definition;
  if (isInMap(schema, path) || valueTypeAt(schema, path)?.instance !== 'String')
    fail(`query.search names "${path}", which is no text. Search a text or a list of texts.`);
}

/** Clients must not be able to guess the values of hidden fields through filters and orders. */
function requireShown(path: string, option: string, definition: CrudDefinition, fail = definition.fail) {
  const { schema } = definition;
  const shows = showsStored(definition, path);
  failIf(fail, `${option} names "${path}", which `, {
    'the schema does not have.': !isDeclared(schema, path),
    'clients do not see: its values could be guessed. Leave it out.':
      isHidden(schema, path) || shows === false,
    'the function of output may hide from a caller, who could guess its values. Leave it out, or write output: { from, hides: [] } with the names of all fields that the function hides or changes.':
      shows === 'unknown',
  });
}
