import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { badValue, failure } from '../errors.js';
import { clauseOperators } from './operators.js';
import { fieldCondition } from './field.js';
import { parsePath } from './path.js';
import type { ClauseContext, Filter } from './types.js';

export type { Interval, Predicate } from './predicate.js';
export type { ClauseContext, Filter } from './types.js';

/**
 * @throws CommandError BadValue (2) and others, with MongoDB's messages; CommandNotSupported (115) for
 * features that this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/query/
 */
export function compileFilter(filter: BsonDocument): Filter {
  return compileClauses(filter);
}

/**
 * The condition of `$pull` on documents. Operators that MongoDB allows only in queries are rejected with its
 * messages.
 */
export function compileElementFilter(filter: BsonDocument): Filter {
  return compileClauses(filter, {
    onTopLevel: () => failure('QueryFeatureNotAllowed', '$expr is not allowed in this context'),
  });
}

/** A filter, or one inside another filter. */
export function compileClauses(filter: BsonDocument, context: ClauseContext = {}): Filter {
  return allOf(
    [...filter].map(([key, value]) =>
      key.startsWith('$') ? clauseOperators.find(key)(value, context) : fieldFilter(key, value),
    ),
  );
}

/** Matches everything. */
export const everyDocument: Filter = { matches: () => true, predicates: [], alternatives: [], exact: true };

/** A condition that no index can help with. */
export const opaque: Filter = { ...everyDocument, exact: false };

/** The filters that `$and`, `$or` or `$nor` holds. */
export function compileBranches(operator: string, argument: BsonValue, context: ClauseContext): Filter[] {
  if (!Array.isArray(argument)) throw badValue(`${operator} must be an array`);
  if (argument.length === 0) throw badValue(`${operator} must be a nonempty array`);
  return argument.map((each) => {
    if (!isDocument(each)) throw badValue(`$or/$and/$nor entries need to be full objects`);
    return compileClauses(each, context);
  });
}

/** Matches if all of the filters do. */
export function allOf(filters: readonly Filter[]): Filter {
  if (filters.length === 1) return filters[0] as Filter;
  // As in MongoDB, expressions come last: documents that the others exclude cannot make them fail.
  const inOrder = [...filters].sort((a, b) => Number(a.evaluates ?? false) - Number(b.evaluates ?? false));
  return {
    matches: (document) => inOrder.every((each) => each.matches(document)),
    evaluates: filters.some((each) => each.evaluates),
    predicates: filters.flatMap((each) => each.predicates),
    alternatives: filters.flatMap((each) => each.alternatives),
    exact: filters.every((each) => each.exact),
  };
}

/** The condition on one field, as a filter. */
export function fieldFilter(name: string, argument: BsonValue): Filter {
  const asked = fieldCondition(argument);
  const path = parsePath(name);
  return {
    matches: (document) => asked.matchesAt(document, path),
    predicates: (asked.predicates?.(name) ?? []).filter((each) => !hasPosition(each.path)),
    alternatives: [],
    exact: (asked.exact ?? false) && !hasPosition(name),
  };
}

/** A number in a path names an element or a field; an index over it stores something else in either case. */
function hasPosition(path: string): boolean {
  return /(?:^|\.)\d+(?:\.|$)/.test(path);
}
