import { searchPredicates } from '../search/search-predicates.js';
import type { StoreFilter } from '../store/crud.store.js';
import { exactly } from '../store/exact-conditions.js';
import { literalPattern } from './literal-pattern.js';
import type { Condition, ListQuery } from './list-query.js';
import type { Operator } from './operators.js';

/** The predicates of a query's conditions and search. No other code turns client input into a filter. */
export function predicatesOf({ conditions = [], search }: ListQuery): StoreFilter[] {
  const asked = conditions.map((condition) => exactly(predicateOf(condition)));
  return [...asked, ...(search ? searchPredicates(search) : [])];
}

function predicateOf({ field: { path, within }, operator, values }: Condition): StoreFilter {
  const [value] = values;
  if (operator !== 'exists') return { [path]: MATCHERS[operator](value, values) };
  if (within === undefined) return { [path]: value ? { $ne: null } : { $eq: null } };
  // Through a list of objects, `$ne` would require that no entry lacks the field.
  const entry = { $elemMatch: { [path.slice(within.length + 1)]: { $ne: null } } };
  return { [within]: value ? entry : { $not: entry } };
}

type Matcher = (value: unknown, values: readonly unknown[]) => object;

/**
 * Operators in terms of the store. For a list, `ne` and `nin` require that no entry matches, as in MongoDB.
 */
const MATCHERS: Readonly<Record<Exclude<Operator, 'exists'>, Matcher>> = {
  eq: (value) => ({ $eq: value }),
  ne: (value) => ({ $ne: value }),
  gt: (value) => ({ $gt: value }),
  gte: (value) => ({ $gte: value }),
  lt: (value) => ({ $lt: value }),
  lte: (value) => ({ $lte: value }),
  in: (_, values) => ({ $in: values }),
  nin: (_, values) => ({ $nin: values }),
  contains: (value) => ({ $regex: literalPattern(String(value)) }),
  startsWith: (value) => ({ $regex: `^${literalPattern(String(value))}` }),
};
