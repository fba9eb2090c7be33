import type { Archived } from '../definition/archive.js';
import type { ReferenceDefinition } from '../definition/crud-definition.js';
import type { FilterField, FilterKind, Order } from '../definition/query-definition.js';
import type { Search } from '../search/search.js';

/** The operators of each kind of field. `field=value` is short for `field[eq]=value`. */
export const OPERATORS = {
  string: ['eq', 'ne', 'in', 'nin', 'exists', 'contains', 'startsWith'],
  number: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'],
  timestamp: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'],
  boolean: ['eq', 'ne', 'exists'],
  identifier: ['eq', 'ne', 'in', 'nin', 'exists'],
  enum: ['eq', 'ne', 'in', 'nin', 'exists'],
} as const satisfies Record<FilterKind, readonly string[]>;

/** Name of an operator. */
export type Operator = (typeof OPERATORS)[FilterKind][number];

/** Maximum numbers of conditions of one query, and of values of `in` and `nin`. */
export const QUERY_LIMITS = { conditions: 20, values: 100 } as const;

/** The same for a query in a body; also of entries of an `and` or `or`, and of levels of `and`, `or` and `not`. */
export const BODY_LIMITS = { conditions: 50, values: 500, entries: 20, levels: 5 } as const;

/** The kind of a read: a list, its count, or one record. */
export type ReadKind = 'list' | 'count' | 'get';

/** The parameters of each kind of read, besides filters. Not every resource has `expand`, `q` and `archived`. */
export const PARAMETERS: Readonly<Record<ReadKind, readonly string[]>> = {
  list: ['offset', 'limit', 'after', 'before', 'count', 'sort', 'fields', 'expand', 'q', 'archived'],
  count: ['q', 'archived'],
  get: ['fields', 'expand', 'archived'],
};

/** One condition of a filter, with values of the store's types. */
export interface Condition {
  readonly field: FilterField;
  readonly operator: Operator;
  /** The value, or the values of `in` and `nin`; for `exists`, whether the field must exist. */
  readonly values: readonly unknown[];
}

/** A tree of conditions. `not` is the complement: a record matches either it or what it holds. */
export type Where =
  | Condition
  | { readonly and: readonly Where[] }
  | { readonly or: readonly Where[] }
  | { readonly not: Where };

/** How each record is shown. */
export interface ReadQuery {
  /** Whether archived records are read; the scope then needs the isolation fields of `update` and `del`. @default live only */
  readonly archived?: Archived;
  /** Names of the fields to show, besides `_id`. @default all */
  readonly fields?: readonly string[];
  /** References to replace with the records they refer to. @default none */
  readonly expand?: readonly ReferenceDefinition[];
}

/** How the records of a list are counted for a page. */
export const COUNT_MODES = ['exact', 'estimated', 'none'] as const;

/** `estimated` takes the collection's own figure if the caller can see every record and there is no filter. */
export type CountMode = (typeof COUNT_MODES)[number];

/** The records of a resource to read, and their order. */
export interface ListQuery extends ReadQuery {
  /** All of them must be true. @default none */
  readonly conditions?: readonly Where[];
  /** Words and phrases that must occur. @default none */
  readonly search?: Search;
  /** @default newest first */
  readonly order?: Order;
  /** Number of records to skip. Unit: records. @default 0 */
  readonly offset?: number;
  /** Cursor (`next`) of a page, to continue after it; used instead of an offset. */
  readonly after?: string;
  /** Cursor (`prev`) of a page, to read what precedes it; used instead of an offset. */
  readonly before?: string;
  /** @default 'exact' */
  readonly count?: CountMode;
  /** Maximum number of records of the page. If omitted, every record is read. Unit: records. */
  readonly limit?: number;
  /** Whether the query was sent in a body. Its cursors belong to such queries only. @default false */
  readonly isBody?: boolean;
}

/** One page of a list. */
export type PageQuery = ListQuery & { readonly limit: number };
