import type { Type } from '@nestjs/common';
import type { Schema, SchemaType } from 'mongoose';
import { type FieldDescription, fieldsOf } from '../../fields/index.js';
import type { Fail } from '../options/checks.js';
import type { CrudOutput, CrudQueryOptions } from '../options/crud-options.js';
import { type SearchDefinition, searchDefinition, WORDS } from '../search/words.js';
import { entryTypeOf } from './hidden-fields.js';
import type { ArchiveDefinition } from './archive.js';
import { type FilterField, filterFieldOf, isDeclared, isHidden } from './filter-field.js';
import { NEWEST_FIRST, type Order, orderOf, reverseOf, sortsBy } from './order.js';
import { showsStored } from './output.js';

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
  /** The fields that `q` searches; undefined if the resource cannot be searched. */
  readonly search?: SearchDefinition;
}

interface Described {
  readonly entity: Type<object>;
  readonly schema: Schema;
  readonly archive: ArchiveDefinition | undefined;
  readonly output: CrudOutput<object> | undefined;
  /** The sets of fields that scope lists and counts. */
  readonly scopes: readonly (readonly string[])[];
}

/** The definition of the option `query`. Checks that every path is in the schema and visible to clients. */
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

/** The orders, without those that another one already serves. */
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

/** Whether a field holds a string or a list of strings and is not inside a map. */
function isText(schema: Schema, path: string): boolean {
  const names = path.split('.');
  const types = names.map((_, i) => schema.path(names.slice(0, i + 1).join('.')) as SchemaType | undefined);
  if (types.some((type) => type?.instance === 'Map')) return false;
  const type = types.at(-1);
  return (entryTypeOf(type) ?? type)?.instance === 'String';
}

/** Clients must not be able to guess the values of hidden fields through filters and orders. */
function requireShown(path: string, option: string, { schema, output }: Described, fail: Fail): void {
  if (!isDeclared(schema, path)) fail(`${option} names "${path}", which the schema does not have.`);
  const shows = showsStored(output, path);
  if (isHidden(schema, path) || shows === false) {
    fail(`${option} names "${path}", which clients do not see: its values could be guessed. Leave it out.`);
  }
  if (shows === 'unknown') {
    fail(
      `${option} names "${path}", which the function of output may hide from a caller, who could guess its values. Leave it out, or write output: { from, hides: [] } with the names of all fields that the function hides or changes.`,
    );
  }
}

/** The description of a field by the entity's decorators, if any. */
function fieldAt(entity: Type<object>, path: string): FieldDescription | undefined {
  const [name, ...rest] = path.split('.');
  const field = fieldsOf(entity).find((candidate) => candidate.name === name);
  if (rest.length === 0 || !field) return field;
  return field.nested && fieldAt(field.nested, rest.join('.'));
}
