import { Injectable, type PipeTransform } from '@nestjs/common';
import { errorMessages, ValidationError, type Violation } from '../../errors/index.js';
import { splitList } from '../../fields/index.js';
import { ARCHIVED, asksForArchived } from '../definition/archive.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { type Offered, PAGE_LIMITS, SCALARS } from '../definition/query-definition.js';
import { topOf } from '../schema/schema-paths.js';
import { readSearch } from '../search/search.js';
import { ConditionReader } from './conditions.js';
import { COUNT_MODES, type ListQuery, type PageQuery, PARAMETERS, type ReadKind } from './list-query.js';

/** Names of the parameters that a kind of read accepts, besides filters. */
export function parametersOf(kind: ReadKind, definition: CrudDefinition): readonly string[] {
  const offered: Readonly<Record<string, boolean>> = {
    expand: definition.expandable.size > 0,
    q: definition.query.search !== undefined,
    archived: definition.archive !== undefined,
  };
  return PARAMETERS[kind].filter((name) => offered[name] ?? true);
}

/** The fields that a kind of read can be filtered by. */
export function filtersOf(kind: ReadKind, { filters }: Offered): Offered['filters'] {
  return kind === 'get' ? new Map() : filters;
}

/** Whether a field cannot be filtered by in the short form, because its name is a parameter: `limit[eq]` is a filter. */
export function needsOperator(path: string): boolean {
  return PARAMETERS.list.includes(path);
}

/** `field` or `field[operator]`. */
const FILTER = /^([^[\]]+)(?:\[([^[\]]*)\])?$/;

/** The field and operator that a parameter names, if it is a filter. The operator may not exist. */
function filterNamed(filters: Offered['filters'], parameter: string) {
  const [, path = '', operator] = FILTER.exec(parameter) ?? [];
  const field = operator === undefined && needsOperator(path) ? undefined : filters.get(path);
  return field && { field, operator: operator ?? 'eq' };
}

/** The operand that a text spells. */
function operandOf(operator: string, text: string): unknown {
  if (operator === 'exists') return SCALARS.Boolean?.parse(text);
  return operator === 'in' || operator === 'nin' ? splitList(text) : text;
}

/** Takes what is wrong with a parameter. */
type Reject = (parameter: string, detail: string) => undefined;

/** What a function reads. @throws ValidationError with everything that it has rejected */
function strictly<T>(read: (reject: Reject) => T): T {
  const violations: Violation[] = [];
  const result = read((parameter, detail) => void violations.push({ parameter, detail }));
  const [first, ...others] = violations;
  if (first) throw new ValidationError([first, ...others]);
  return result;
}

/**
 * Reads the query of a request strictly: the only way from a request to a filter.
 *
 * @throws ValidationError that names each unknown or invalid parameter, and what is accepted
 */
export function readQuery(kind: ReadKind, raw: Texts, definition: CrudDefinition): ListQuery {
  const { query } = definition;
  const filters = filtersOf(kind, asksForArchived(raw) ? query : query.live);
  const known = parametersOf(kind, definition);
  return strictly((reject) => {
    const parameters: Record<string, string> = {};
    const given = Object.entries(raw).flatMap(([name, text]) => {
      const filter = filterNamed(filters, name);
      if (filter) return [{ ...filter, name, text }];
      if (known.includes(name)) parameters[name] = text;
      else reject(name, errorMessages.unknownParameter(name, [...known, ...namesOf(filters)]));
      return [];
    });
    const reader = new ConditionReader(false);
    const conditions = given.flatMap(({ field, operator, name, text }) => {
      const operand = operandOf(operator, text);
      return reader.read(field, operator, operand, name, (detail) => reject(name, detail) ?? []);
    });
    const read = readParameters(kind, parameters, definition, reject);
    return { ...read, ...(conditions.length > 0 && { conditions }) };
  });
}

/** Reads the parameters other than filters. */
export function readParameters(
  kind: ReadKind,
  text: Texts,
  { expandable, list, query, shownFields }: CrudDefinition,
  reject: Reject,
): ListQuery {
  const { orders } = asksForArchived(text) ? query : query.live;
  const { notExpandable, unknownFieldName, unknownOrder } = errorMessages;
  const search = text.q === undefined ? undefined : readSearch(text.q, query.search, reject);
  const archived = readOneOf('archived', text.archived, ARCHIVED, reject);
  const paths = readNames('expand', text.expand, [...expandable.keys()], notExpandable, reject) ?? [];
  const expand = paths.flatMap((path) => expandable.get(path) ?? []);
  const expanded = paths.map(topOf);
  const fields = readNames('fields', text.fields, shownFields, unknownFieldName, reject);
  const order = orders.get(text.sort ?? '');
  if (text.sort !== undefined && !order) reject('sort', unknownOrder(text.sort, [...orders.keys()]));
  return {
    ...(archived && { archived }),
    ...(search && { search }),
    ...(fields && { fields: [...new Set([...fields, ...expanded])] }),
    ...(expand.length > 0 && { expand }),
    ...(order && { order }),
    ...(kind === 'list' && readPage(text, list, reject)),
  };
}

/** Whether a query asks for a page rather than for every record. */
export function isPageQuery(query: ListQuery): query is PageQuery {
  return query.limit !== undefined;
}

/** The filters by the names that clients use. */
function namesOf(filters: Offered['filters']): string[] {
  return [...filters.keys()].map((path) => (needsOperator(path) ? `${path}[…]` : path));
}

/** Reads comma-separated names; undefined if there are none, or an unknown one. */
function readNames(
  parameter: string,
  text: string | undefined,
  allowed: readonly string[],
  detailOf: (unknown: string, allowed: readonly string[]) => string,
  reject: Reject,
): string[] | undefined {
  if (text === undefined) return undefined;
  const names = [...new Set(text.split(','))];
  const unknown = names.find((name) => !allowed.includes(name));
  return unknown === undefined ? names : reject(parameter, detailOf(unknown, allowed));
}

/** Reads one of several names; undefined if there is none, or an unknown one. */
function readOneOf<Name extends string>(
  parameter: string,
  text: string | undefined,
  allowed: readonly Name[],
  reject: Reject,
): Name | undefined {
  if (text === undefined) return undefined;
  const found = allowed.find((name) => name === text);
  return found ?? reject(parameter, errorMessages.notOneOf(parameter, allowed));
}

/** Parameters as the client sent them. */
type Texts = Readonly<Record<string, string>>;

/** Reads the parameters of a page; undefined if every record is requested. Cursors are verified once the scope is known. */
function readPage(text: Texts, paging: Paging, reject: Reject): ListQuery | undefined {
  const { after, before } = text;
  const isCursor = after !== undefined || before !== undefined;
  const [one, other] = ['after', 'before', 'offset'].filter((name) => text[name] !== undefined);
  if (one !== undefined && other !== undefined) reject(one, errorMessages.exclusiveParameters(one, other));
  const position = readPosition(text, isCursor ? { ...paging, unpaged: false } : paging, reject);
  const count = readOneOf('count', text.count, COUNT_MODES, reject);
  if (!position) return count && reject('count', errorMessages.countWithoutPage);
  const { offset, limit } = position;
  return {
    limit,
    ...(!isCursor && { offset }),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
    ...(count && { count }),
  };
}

/** One page by its position. Unit: records. */
export interface PagePosition {
  readonly offset: number;
  readonly limit: number;
}

/** How a resource is paged. */
export interface Paging {
  /** Whether a query without page parameters returns every record; otherwise it returns the first page. */
  readonly unpaged: boolean;
  /** Maximum number of records per page. Unit: records. */
  readonly maxLimit: number;
}

/** Reads `offset` and `limit`. Either one requests a page; the other takes its default. */
function readPosition(query: Readonly<Record<string, unknown>>, paging: Paging, reject: Reject) {
  const { unpaged, maxLimit } = paging;
  if (unpaged && query.offset === undefined && query.limit === undefined) return undefined;
  const read = (name: 'offset' | 'limit', fallback: number, maximum?: number): number => {
    const { minimum } = PAGE_LIMITS[name];
    const text = query[name] ?? String(fallback);
    const value = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= (maximum ?? Number.MAX_SAFE_INTEGER)) return value;
    reject(name, errorMessages.wholeNumber(name, minimum, maximum));
    return fallback;
  };
  return {
    offset: read('offset', PAGE_LIMITS.offset.default),
    limit: read('limit', Math.min(PAGE_LIMITS.limit.default, maxLimit), maxLimit),
  };
}

/** Reads `offset` and `limit` for hand-written controllers; undefined if every record is requested. */
@Injectable()
export class PageQueryPipe implements PipeTransform<Record<string, unknown>, PagePosition | undefined> {
  /** @throws ValidationError if one is not a whole number within its bounds */
  transform(query: Record<string, unknown>): PagePosition | undefined {
    const paging = { unpaged: true, maxLimit: PAGE_LIMITS.limit.maximum };
    return strictly((reject) => readPosition(query, paging, reject));
  }
}

/** The requested fields of a shown record, and its identifier. */
export function project<T extends object>(record: T, fields: readonly string[] | undefined): Partial<T> {
  if (!fields) return record;
  const entries = Object.entries(record).filter(([name]) => name === '_id' || fields.includes(name));
  return Object.fromEntries(entries) as Partial<T>;
}

/** Reads `fields` for hand-written controllers. Throws a ValidationError if one is not among those shown. */
export function fieldsPipe(
  shown: readonly string[],
): PipeTransform<string | undefined, string[] | undefined> {
  const { unknownFieldName } = errorMessages;
  return {
    transform: (text) => strictly((reject) => readNames('fields', text, shown, unknownFieldName, reject)),
  };
}
