import type { Type } from '@nestjs/common';
import type { Schema, SchemaType } from 'mongoose';
import { type FieldDescription, fieldsOf } from '../../fields/index.js';
import type { Fail } from '../options/fail.js';
import type { CrudQueryOptions } from '../options/crud-options.js';
import { type SearchDefinition, searchDefinition, WORDS } from '../search/search-definition.js';
import { type FilterField, filterFieldOf } from './filter-field.js';
import type { ArchiveDefinition } from './archive.js';
import { isHidden } from './hidden-path.js';
import { NEWEST_FIRST, type Order, orderOf, reverseOf, sortsBy } from './order.js';

/** Filters and orders that a client can use. */
export interface Offered {
  /** The fields to filter by, by their paths. */
  readonly filters: ReadonlyMap<string, FilterField>;
  /** Every order, by its text: those of the options and their reverses. */
  readonly orders: ReadonlyMap<string, Order>;
}

/** Filters, orders and searches that clients of a resource can use in a query. */
export interface QueryDefinition extends Offered {
  /** Those for live records, which have no archive date. */
  readonly live: Offered;
  /** The orders that indexes serve; each serves its reverse, too. The first is the default. */
  readonly indexed: readonly Order[];
  /** The fields that `q` searches; undefined if the resource cannot be searched. */
  readonly search?: SearchDefinition;
}

interface Described {
  readonly entity: Type<object>;
  readonly schema: Schema;
  readonly archive: ArchiveDefinition | undefined;
  /** Names of the record's fields that clients see; undefined if only a function knows. */
  readonly shown: readonly string[] | undefined;
  /** The sets of fields that lists and counts are filtered by besides. */
  readonly scopes: readonly (readonly string[])[];
}

/** The definition of the option `query`. Every path is one that the schema has and that clients see. */
export function queryDefinition(
  { filter = [], sort = [], search = [] }: CrudQueryOptions<object>,
  described: Described,
  fail: Fail,
): QueryDefinition {
  const filters = new Map(filter.map((path) => [path, requireFilter(path, described, fail)] as const));
  for (const path of search) requireSearchable(path, described, fail);
  const declared = sort.map((keys) => orderOf(typeof keys === 'string' ? [keys] : keys));
  for (const { keys } of declared) for (const { path } of keys) requireSortable(path, described, fail);
  declared.forEach((order, i) => {
    const twin = declared.slice(0, i).find(({ text }) => [order.text, reverseOf(order).text].includes(text));
    if (twin) fail(`query.sort has "${twin.text}", which serves "${order.text}", too. Remove one of them.`);
  });
  const indexed = unique([NEWEST_FIRST, ...declared]);
  const orders = indexed.flatMap((order) => [order, reverseOf(order)]);
  const offered = { filters, orders: new Map(orders.map((order) => [order.text, order])) };
  const live = withoutField(offered, described.archive?.field);
  return { ...offered, indexed, live, search: searchDefinition(search, described.scopes) };
}

function withoutField({ filters, orders }: Offered, field: string | undefined): Offered {
  return {
    filters: new Map([...filters].filter(([path]) => path !== field)),
    orders: new Map([...orders].filter(([, order]) => !sortsBy(order, field))),
  };
}

/** The orders without those that another one serves already. */
function unique(orders: readonly Order[]): Order[] {
  const seen = new Set<string>();
  return orders.filter((order) => {
    if (seen.has(order.text)) return false;
    seen.add(order.text).add(reverseOf(order).text);
    return true;
  });
}

function requireFilter(path: string, described: Described, fail: Fail): FilterField {
  requireShown(path, 'query.filter', described, fail);
  const { entity, schema } = described;
  const found = filterFieldOf(schema, path, fieldAt(entity, path)?.values);
  if (found) return found;
  return fail(
    `query.filter names "${path}", which is no single value. Filter by a text, number, timestamp, boolean, identifier or enum, or by a list of those.`,
  );
}

function requireSortable(path: string, described: Described, fail: Fail): void {
  requireShown(path, 'query.sort', described, fail);
  const field = filterFieldOf(described.schema, path, undefined);
  const isList = (described.schema.path(path) as SchemaType | undefined)?.instance === 'Array';
  if (path === '_id' || !field || isList || field.within !== undefined) {
    fail(`query.sort names "${path}", which has no order. Sort by a single value other than _id.`);
  }
}

function requireSearchable(path: string, described: Described, fail: Fail): void {
  const { schema } = described;
  requireShown(path, 'query.search', described, fail);
  if (!isText(schema, path)) {
    fail(`query.search names "${path}", which is no text. Search a text or a list of texts.`);
  }
  if (schema.path(WORDS) || schema.pathType(WORDS) === 'nested') {
    fail(`the schema has "${WORDS}", where the words of query.search are stored. Rename the field.`);
  }
}

/** Whether a field holds a text or a list of texts, and no map is on the way to it. */
function isText(schema: Schema, path: string): boolean {
  const names = path.split('.');
  const types = names.map((_, i) => schema.path(names.slice(0, i + 1).join('.')) as Entries | undefined);
  if (types.some((type) => type?.instance === 'Map')) return false;
  const type = types.at(-1);
  return (type?.instance === 'Array' ? type.embeddedSchemaType : type)?.instance === 'String';
}

/** Members of Mongoose's list types about their entries. */
type Entries = SchemaType & { readonly embeddedSchemaType?: SchemaType };

/** A field that clients don't see must not be guessed through filters and orders. */
function requireShown(path: string, option: string, { schema, shown }: Described, fail: Fail): void {
  // Mongoose knows positions in lists, too.
  const isPosition = path.split('.').some((name) => /^\d+$/.test(name));
  const isKnown = !isPosition && (schema.path(path) !== undefined || schema.pathType(path) === 'nested');
  if (!isKnown) fail(`${option} names "${path}", which the schema does not have.`);
  const isLeftOut = shown !== undefined && !shown.includes(path.split('.', 1)[0] ?? '');
  if (isHidden(schema, path) || isLeftOut) {
    fail(`${option} names "${path}", which clients do not see: its values could be guessed. Leave it out.`);
  }
}

/** Description of a field by the entity's decorators; undefined if they do not describe it. */
function fieldAt(entity: Type<object>, path: string): FieldDescription | undefined {
  const [name, ...rest] = path.split('.');
  const field = fieldsOf(entity).find((candidate) => candidate.name === name);
  if (rest.length === 0 || !field) return field;
  return field.nested && fieldAt(field.nested, rest.join('.'));
}
