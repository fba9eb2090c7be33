import type { Archived } from '../definition/archive.js';
import type { ReferenceDefinition } from '../definition/crud-definition.js';
import type { FilterField } from '../definition/filter-field.js';
import type { Order } from '../definition/order.js';
import type { Search } from '../search/search.js';
import type { Operator } from './operators.js';

/** The kind of a read: a list, its count, or one record. */
export type ReadKind = 'list' | 'count' | 'get';

/** One condition of a filter, with values of the store's types. */
export interface Condition {
  readonly field: FilterField;
  readonly operator: Operator;
  /** One value, or those of `in` and `nin`; of `exists`, whether it must. */
  readonly values: readonly unknown[];
}

/** How each record is shown. */
export interface ReadQuery {
  /**
   * Archived records alone, or live and archived ones, for a resource with an archive. The scope must then have a value for
   * the isolation fields of `update` and `del`, too.
   *
   * @default live records only
   */
  readonly archived?: Archived;
  /** Names of the fields to show, besides `_id`. @default all */
  readonly fields?: readonly string[];
  /** References whose records the answer has in the place of their identifiers. @default none */
  readonly expand?: readonly ReferenceDefinition[];
}

/** How the records of a list are counted beside a page of it. */
export const COUNT_MODES = ['exact', 'estimated', 'none'] as const;

/**
 * One of {@link COUNT_MODES}: `estimated` takes the collection's own figure where the caller sees every record of it and asks
 * for no filter, and counts otherwise.
 */
export type CountMode = (typeof COUNT_MODES)[number];

/** Which records of a resource are asked for, and in which order. */
export interface ListQuery extends ReadQuery {
  /** All of them must hold. @default none */
  readonly conditions?: readonly Condition[];
  /** Words and phrases that must occur. @default none */
  readonly search?: Search;
  /** @default newest first */
  readonly order?: Order;
  /** Number of records to skip. Unit: records. @default 0 */
  readonly offset?: number;
  /** Cursor of a page: its `next`, to read on behind it, in place of an offset. */
  readonly after?: string;
  /** Cursor of a page: its `prev`, to read what comes before it, in place of an offset. */
  readonly before?: string;
  /** @default 'exact' */
  readonly count?: CountMode;
  /** Maximum number of records of the page; left out, every record is asked for. Unit: records. */
  readonly limit?: number;
}

/** One page of a list. */
export type PageQuery = ListQuery & { readonly limit: number };

/** Whether a query asks for a page rather than for every record. */
export function isPageQuery(query: ListQuery): query is PageQuery {
  return query.limit !== undefined;
}
