/** The kinds of fields that a query can filter by. */
export type FilterKind = 'string' | 'number' | 'timestamp' | 'boolean' | 'identifier' | 'enum';

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

/** Maximum number of conditions of one query. */
export const MAX_CONDITIONS = 20;

/** Maximum number of values of `in` and `nin`. */
export const MAX_VALUES = 100;
