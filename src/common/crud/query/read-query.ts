import { Injectable, type PipeTransform } from '@nestjs/common';
import { errorMessages, ValidationError, type Violation } from '../../errors/index.js';
import { ARCHIVED_PARAMETER, asksForArchived, readArchived } from '../definition/archive.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { Offered } from '../definition/query-definition.js';
import { readSearch } from '../search/search.js';
import { COUNT_MODES, type ListQuery, type PageQuery, PARAMETERS, type ReadKind } from './list-query.js';
import { filterNamed, needsOperator, readConditions } from './conditions.js';

/** Names of the parameters that a kind of read accepts, besides filters. */
export function parametersOf(
  kind: ReadKind,
  { archive, expandable, query: { search } }: CrudDefinition,
): readonly string[] {
  const offered: Readonly<Record<string, boolean>> = { expand: expandable.size > 0, q: search !== undefined };
  const known = PARAMETERS[kind].filter((name) => offered[name] ?? true);
  return archive ? [...known, ARCHIVED_PARAMETER] : known;
}

/** The fields that a kind of read can be filtered by. */
export function filtersOf(kind: ReadKind, { filters }: Offered): Offered['filters'] {
  return kind === 'get' ? new Map() : filters;
}

/**
 * Reads the query of a request strictly: the only way from a request to a filter.
 *
 * @throws ValidationError that names each unknown or invalid parameter, and what is accepted
 */
export function readQuery(
  kind: ReadKind,
  raw: Readonly<Record<string, string>>,
  definition: CrudDefinition,
): ListQuery {
  const { query } = definition;
  const filters = filtersOf(kind, asksForArchived(raw) ? query : query.live);
  const known = parametersOf(kind, definition);
  const violations: Violation[] = [];
  const given = Object.entries(raw).filter(([name]) => {
    if (known.includes(name) || filterNamed(filters, name)) return true;
    const allowed = [...known, ...namesOf(filters)];
    violations.push({ parameter: name, detail: errorMessages.unknownParameter(name, allowed) });
    return false;
  });
  const conditions = readConditions(filters, given, violations);
  const text = Object.fromEntries(given.filter(([name]) => known.includes(name)));
  const read = readParameters(kind, text, definition, violations);
  const [first, ...others] = violations;
  if (first) throw new ValidationError([first, ...others]);
  return { ...read, ...(conditions.length > 0 && { conditions }) };
}

/** Reads the parameters other than filters. Each that is invalid adds to the violations. */
export function readParameters(
  kind: ReadKind,
  text: Readonly<Record<string, string>>,
  definition: CrudDefinition,
  violations: Violation[],
): ListQuery {
  const { orders } = asksForArchived(text) ? definition.query : definition.query.live;
  const search = text.q === undefined ? undefined : readSearch(text.q, definition.query.search, violations);
  const archived = readArchived(text.archived, violations);
  const { expandable, shownFields } = definition;
  const { notExpandable, unknownFieldName } = errorMessages;
  const paths = readNames('expand', text.expand, [...expandable.keys()], notExpandable, violations) ?? [];
  const expand = paths.flatMap((path) => expandable.get(path) ?? []);
  const expanded = paths.map((path) => path.split('.', 1)[0] ?? path);
  const fields = readNames('fields', text.fields, shownFields, unknownFieldName, violations);
  const order = text.sort === undefined ? undefined : orders.get(text.sort);
  if (text.sort !== undefined && !order) {
    const allowed = [...orders.keys()];
    violations.push({ parameter: 'sort', detail: errorMessages.unknownOrder(text.sort, allowed) });
  }
  const page = kind === 'list' ? readPage(text, definition.list, violations) : undefined;
  return {
    ...(archived && { archived }),
    ...(search && { search }),
    ...(fields && { fields: [...new Set([...fields, ...expanded])] }),
    ...(expand.length > 0 && { expand }),
    ...(order && { order }),
    ...page,
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

/** Reads comma-separated names; undefined if there are none, or an unknown one, which is a violation. */
function readNames(
  parameter: string,
  text: string | undefined,
  allowed: readonly string[],
  detailOf: (unknown: string, allowed: readonly string[]) => string,
  violations: Violation[],
): string[] | undefined {
  if (text === undefined) return undefined;
  const names = [...new Set(text.split(','))];
  const unknown = names.find((name) => !allowed.includes(name));
  if (unknown === undefined) return names;
  violations.push({ parameter, detail: detailOf(unknown, allowed) });
  return undefined;
}

/** Parameters as the client sent them. */
type Texts = Readonly<Partial<Record<string, string>>>;

/** Reads the parameters of a page; undefined if every record is requested. Cursors are verified once the scope is known. */
function readPage(text: Texts, paging: Paging, violations: Violation[]): ListQuery | undefined {
  const { after, before } = text;
  const isCursor = after !== undefined || before !== undefined;
  const [one, other] = ['after', 'before', 'offset'].filter((name) => text[name] !== undefined);
  if (one !== undefined && other !== undefined)
    violations.push({ parameter: one, detail: errorMessages.exclusiveParameters(one, other) });
  const position = readPosition(text, isCursor ? { ...paging, unpaged: false } : paging, violations);
  const count = readCount(text.count, position !== undefined, violations);
  if (!position) return undefined;
  const { offset, limit } = position;
  return {
    limit,
    ...(!isCursor && { offset }),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
    ...(count && { count }),
  };
}

function readCount(text: string | undefined, isPage: boolean, violations: Violation[]): ListQuery['count'] {
  if (text === undefined) return undefined;
  const mode = COUNT_MODES.find((known) => known === text);
  if (!mode) {
    const detail = errorMessages.wrongParameter('count', `one of ${COUNT_MODES.join(', ')}`);
    violations.push({ parameter: 'count', detail });
  } else if (!isPage) violations.push({ parameter: 'count', detail: errorMessages.countWithoutPage });
  return mode;
}

/** One page by its position. Unit: records. */
export interface PagePosition {
  readonly offset: number;
  readonly limit: number;
}

/** Bounds of the paging parameters. Unit: records. */
export const PAGE_LIMITS = {
  offset: { minimum: 0, default: 0 },
  limit: { minimum: 1, maximum: 100, default: 20 },
} as const;

/** How a resource is paged. */
export interface Paging {
  /** Whether a query without page parameters returns every record; otherwise it returns the first page. */
  readonly unpaged: boolean;
  /** Maximum number of records per page. Unit: records. */
  readonly maxLimit: number;
}

const DEFAULT_PAGING: Paging = { unpaged: true, maxLimit: PAGE_LIMITS.limit.maximum };

/** Reads `offset` and `limit`. Either one requests a page; the other takes its default. */
function readPosition(
  query: Readonly<Record<string, unknown>>,
  { unpaged, maxLimit }: Paging,
  violations: Violation[],
): PagePosition | undefined {
  if (unpaged && query.offset === undefined && query.limit === undefined) return undefined;
  const read = (name: 'offset' | 'limit', fallback: number, maximum?: number): number => {
    const { minimum } = PAGE_LIMITS[name];
    const text = query[name] ?? String(fallback);
    const value = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= (maximum ?? Number.MAX_SAFE_INTEGER)) return value;
    violations.push({ parameter: name, detail: errorMessages.wholeNumber(name, minimum, maximum) });
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
    const violations: Violation[] = [];
    const position = readPosition(query, DEFAULT_PAGING, violations);
    const [first, ...others] = violations;
    if (first) throw new ValidationError([first, ...others]);
    return position;
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
  const transform = (text: string | undefined) => {
    const violations: Violation[] = [];
    const fields = readNames('fields', text, shown, errorMessages.unknownFieldName, violations);
    const [first] = violations;
    if (first) throw new ValidationError([first]);
    return fields;
  };
  return { transform };
}
