import { compileExpression } from '../aggregate/expression.js';
import { noNames, scopeOf, type Variables } from '../aggregate/scope.js';
import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';
import { fieldCondition, refusedOperators } from './field.js';
import { isTruthy } from '../bson/truth.js';
import { parsePath } from './path.js';
import type { Predicate } from './predicate.js';

export type { Interval, Predicate } from './predicate.js';

/** A compiled filter. */
export interface Filter {
  /** Whether a document matches. */
  matches(document: BsonDocument): boolean;
  /** All of them hold for every match. */
  readonly predicates: readonly Predicate[];
  /** For each `$or` that every match has to meet, its branches. */
  readonly alternatives: readonly (readonly Filter[])[];
  /**
   * Whether the predicates say all of it, for documents without arrays on their paths: such a document matches if, and only
   * if, every path's value, a missing one counted as null, lies inside an interval of each predicate over it.
   */
  readonly exact: boolean;
  /** Whether it holds an `$expr`. */
  readonly evaluates?: boolean;
}

/**
 * @param variables The command's `let`, for `$expr`.
 * @throws CommandError BadValue (2) and others, as MongoDB words them; CommandNotSupported (115) for what this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/query/
 */
export function compileFilter(filter: BsonDocument, variables: Variables = noNames): Filter {
  return compileClauses(filter, { variables });
}

/** The condition of `$pull` over documents; what MongoDB allows only in queries is refused in its words. */
export function compileElementFilter(filter: BsonDocument): Filter {
  return compileClauses(filter, {
    onTopLevel: () => failure('QueryFeatureNotAllowed', '$expr is not allowed in this context'),
  });
}

/** Where clauses stand. */
export interface ClauseContext {
  /** Makes the error for `$expr`, where it may not stand. */
  onTopLevel?: (operator: string) => Error;
  /** The command's `let`. @default none */
  variables?: Variables;
}

/** A filter, or one inside another. */
export function compileClauses(filter: BsonDocument, context: ClauseContext = {}): Filter {
  return both(
    [...filter].map(([key, value]) =>
      key.startsWith('$') ? topLevel(key, value, context) : field(key, value),
    ),
  );
}

const everyDocument: Filter = { matches: () => true, predicates: [], alternatives: [], exact: true };

/** Conditions that no predicate describes. */
const opaque: Filter = { ...everyDocument, exact: false };

function topLevel(operator: string, argument: BsonValue, context: ClauseContext): Filter {
  const { onTopLevel, variables } = context;
  if (onTopLevel && operator === '$expr') throw onTopLevel(operator);
  switch (operator) {
    case '$and':
      return both(clauses(operator, argument, context));
    case '$or': {
      const branches = clauses(operator, argument, context);
      if (branches.length === 1) return branches[0] as Filter;
      return {
        matches: (document) => branches.some((each) => each.matches(document)),
        predicates: [],
        alternatives: [branches],
        exact: false,
      };
    }
    case '$nor': {
      const branches = clauses(operator, argument, context);
      return { ...opaque, matches: (document) => !branches.some((each) => each.matches(document)) };
    }
    case '$expr': {
      const evaluate = compileExpression(argument, variables);
      return {
        ...opaque,
        evaluates: true,
        matches: (document) => isTruthy(evaluate(scopeOf(document))),
      };
    }
    case '$ref':
    case '$id':
    case '$db':
      // The fields of a DBRef, which are always compared as they are.
      return field(operator, new Map([['$eq', argument]]));
    case '$comment':
      return everyDocument;
    case '$alwaysTrue':
    case '$alwaysFalse':
      return { ...opaque, matches: () => operator === '$alwaysTrue' };
    default:
      if (refusedOperators.has(operator)) throw unsupported(`The operator ${operator}`);
      throw failure(
        'BadValue',
        `unknown top level operator: ${operator}. If you have a field name that starts with a '$' symbol, consider using $getField or $setField.`,
      );
  }
}

function clauses(operator: string, argument: BsonValue, context: ClauseContext): Filter[] {
  if (!Array.isArray(argument)) throw failure('BadValue', `${operator} must be an array`);
  if (argument.length === 0) throw failure('BadValue', `${operator} must be a nonempty array`);
  return argument.map((each) => {
    if (!isDocument(each)) throw failure('BadValue', `$or/$and/$nor entries need to be full objects`);
    return compileClauses(each, context);
  });
}

function both(filters: readonly Filter[]): Filter {
  if (filters.length === 1) return filters[0] as Filter;
  // As in MongoDB, expressions come last: what the others rule out cannot make them fail.
  const inOrder = [...filters].sort((a, b) => Number(a.evaluates ?? false) - Number(b.evaluates ?? false));
  return {
    matches: (document) => inOrder.every((each) => each.matches(document)),
    evaluates: filters.some((each) => each.evaluates),
    predicates: filters.flatMap((each) => each.predicates),
    alternatives: filters.flatMap((each) => each.alternatives),
    exact: filters.every((each) => each.exact),
  };
}

function field(name: string, argument: BsonValue): Filter {
  const asked = fieldCondition(argument);
  const path = parsePath(name);
  return {
    matches: (document) => asked.matchesAt(document, path),
    predicates: (asked.predicates?.(name) ?? []).filter((each) => !hasPosition(each.path)),
    alternatives: [],
    exact: (asked.exact ?? false) && !hasPosition(name),
  };
}

/** A number in a path names an element or a field, and an index over it stores something else in either case. */
function hasPosition(path: string): boolean {
  return /(?:^|\.)\d+(?:\.|$)/.test(path);
}
