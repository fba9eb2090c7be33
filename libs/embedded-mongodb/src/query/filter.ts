import { BSONRegExp } from 'bson';
import { compileExpression } from '../aggregate/expression.js';
import { scopeOf } from '../aggregate/scope.js';
import { type BsonDocument, BsonUndefined, type BsonValue, isDocument } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';
import { type Condition, conjunction, negation, wholeCondition } from './condition.js';
import {
  all,
  equality,
  existence,
  isReference,
  isTruthy,
  membership,
  modulo,
  range,
  regex,
  size,
  typed,
} from './operators.js';
import { parsePath } from './path.js';
import { parseText, type TextQuery } from './text.js';

/** A range of values in their total order. */
export interface Interval {
  low: BsonValue;
  lowInclusive: boolean;
  high: BsonValue;
  highInclusive: boolean;
}

/**
 * What a filter asks of one path, for whoever picks an index.
 *
 * A matching document has, among the values that an index over `path` stores for it, one inside an interval. It says
 * nothing of the other direction: each candidate still goes through {@link Filter.matches}. Two predicates over one path
 * may be met by two different elements of an array, so their intervals may be intersected only where the path holds no array.
 */
export interface Predicate {
  path: string;
  /** In ascending order, without overlap. */
  intervals: Interval[];
  /** Whether a document without the path can match, which rules out a sparse index. */
  includesMissing: boolean;
}

/** A compiled filter. */
export interface Filter {
  /** Whether a document matches; `$text` counts as matched, since only the text index can tell. */
  matches(document: BsonDocument): boolean;
  /** All of them hold for every match. */
  readonly predicates: readonly Predicate[];
  /** For each `$or` that every match has to meet, its branches. */
  readonly alternatives: readonly (readonly Filter[])[];
  readonly text?: TextQuery;
  /**
   * Whether the predicates say all of it, for documents without arrays on their paths: such a document matches if, and only
   * if, every path's value, a missing one counted as null, lies inside an interval of each predicate over it.
   */
  readonly exact: boolean;
  /** Whether it holds an `$expr`. */
  readonly evaluates?: boolean;
}

/** Operators of real MongoDB that a filter of this server refuses. */
const refused = new Set([
  '$where',
  '$jsonSchema',
  '$geoWithin',
  '$geoIntersects',
  '$near',
  '$nearSphere',
  '$within',
  '$geoNear',
  '$maxDistance',
  '$minDistance',
  '$uniqueDocs',
  '$bitsAllSet',
  '$bitsAllClear',
  '$bitsAnySet',
  '$bitsAnyClear',
  '$sampleRate',
]);

/**
 * @throws CommandError BadValue (2) and others, as MongoDB words them; CommandNotSupported (115) for what this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/query/
 */
export function compileFilter(filter: BsonDocument): Filter {
  return compileClauses(filter);
}

/** The condition of `$pull` over documents; what MongoDB allows only in queries is refused in its words. */
export function compileElementFilter(filter: BsonDocument): Filter {
  return compileClauses(filter, () =>
    failure('QueryFeatureNotAllowed', '$expr is not allowed in this context'),
  );
}

/** @param onTopLevel Makes the error for `$expr` and `$text`, where they may not stand. */
function compileClauses(filter: BsonDocument, onTopLevel?: (operator: string) => Error): Filter {
  return both(
    [...filter].map(([key, value]) =>
      key.startsWith('$') ? topLevel(key, value, onTopLevel) : field(key, value),
    ),
  );
}

/** Whether an operator stands in the place of a field rather than below one. */
export function isTopLevelOperator(name: string): boolean {
  return ['$and', '$or', '$nor', '$where', '$expr'].includes(name);
}

/** What `$pull` asks of a single value: operators or a regular expression, without a look into arrays. */
export function compileValueFilter(condition: BsonValue): (value: BsonValue) => boolean {
  const asked = fieldCondition(condition);
  return (value) => asked.matchesElement(value);
}

const everyDocument: Filter = { matches: () => true, predicates: [], alternatives: [], exact: true };

/** Conditions that no predicate describes. */
const opaque: Filter = { ...everyDocument, exact: false };

function topLevel(operator: string, argument: BsonValue, onTopLevel?: (operator: string) => Error): Filter {
  if (onTopLevel && (operator === '$expr' || operator === '$text')) throw onTopLevel(operator);
  switch (operator) {
    case '$and':
      return both(clauses(operator, argument, onTopLevel));
    case '$or': {
      const branches = withoutText(operator, clauses(operator, argument, onTopLevel));
      if (branches.length === 1) return branches[0] as Filter;
      return {
        matches: (document) => branches.some((each) => each.matches(document)),
        predicates: [],
        alternatives: [branches],
        exact: false,
      };
    }
    case '$nor': {
      const branches = withoutText(operator, clauses(operator, argument, onTopLevel));
      return { ...opaque, matches: (document) => !branches.some((each) => each.matches(document)) };
    }
    case '$expr': {
      const evaluate = compileExpression(argument);
      return {
        ...everyDocument,
        matches: (document) => isTruthy(evaluate(scopeOf(document))),
      };
    }
    case '$text':
      return { ...opaque, text: parseText(argument) };
    case '$comment':
      return everyDocument;
    case '$alwaysTrue':
    case '$alwaysFalse':
      return { ...opaque, matches: () => operator === '$alwaysTrue' };
    default:
      if (refused.has(operator)) throw unsupported(`The operator ${operator}`);
      throw failure(
        'BadValue',
        `unknown top level operator: ${operator}. If you have a field name that starts with a '$' symbol, consider using $getField or $setField.`,
      );
  }
}

function clauses(operator: string, argument: BsonValue, onTopLevel?: (operator: string) => Error): Filter[] {
  if (!Array.isArray(argument)) throw failure('BadValue', `${operator} must be an array`);
  if (argument.length === 0) throw failure('BadValue', `${operator} must be a nonempty array`);
  return argument.map((each) => {
    if (!isDocument(each)) throw failure('BadValue', `$or/$and/$nor entries need to be full objects`);
    return compileClauses(each, onTopLevel);
  });
}

function both(filters: readonly Filter[]): Filter {
  if (filters.length === 1) return filters[0] as Filter;
  const texts = filters.flatMap((each) => each.text ?? []);
  if (texts.length > 1) throw failure('BadValue', 'Too many text expressions');
  // As in MongoDB, expressions come last: what the others rule out cannot make them fail.
  const inOrder = [...filters].sort((a, b) => Number(a.evaluates ?? false) - Number(b.evaluates ?? false));
  return {
    matches: (document) => inOrder.every((each) => each.matches(document)),
    evaluates: filters.some((each) => each.evaluates),
    predicates: filters.flatMap((each) => each.predicates),
    alternatives: filters.flatMap((each) => each.alternatives),
    exact: filters.every((each) => each.exact),
    text: texts[0],
  };
}

function withoutText(operator: string, branches: Filter[]): Filter[] {
  if (branches.some((each) => each.text)) throw unsupported(`$text inside ${operator}`);
  return branches;
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

function fieldCondition(argument: BsonValue): Condition {
  if (argument instanceof BsonUndefined) throw failure('BadValue', 'cannot compare to undefined');
  if (argument instanceof BSONRegExp) return regex(argument);
  if (isOperators(argument)) return conjunction(operatorConditions(argument));
  return equality(argument);
}

function isOperators(value: BsonValue): value is BsonDocument {
  return isDocument(value) && (value.keys().next().value?.startsWith('$') ?? false) && !isReference(value);
}

function operatorConditions(operators: BsonDocument): Condition[] {
  return [...operators].flatMap(
    ([operator, argument]) => operatorCondition(operator, argument, operators) ?? [],
  );
}

function operatorCondition(
  operator: string,
  argument: BsonValue,
  siblings: BsonDocument,
): Condition | undefined {
  if (argument instanceof BsonUndefined && /^\$(eq|ne|gte?|lte?)$/.test(operator)) {
    throw failure('BadValue', 'cannot compare to undefined');
  }
  switch (operator) {
    case '$eq':
      return equality(argument);
    case '$ne':
      if (argument instanceof BSONRegExp) throw failure('BadValue', `Can't have regex as arg to $ne.`);
      return negation([equality(argument)]);
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      if (argument instanceof BSONRegExp)
        throw failure('BadValue', `Can't have RegEx as arg to predicate over field.`);
      return range(operator, argument);
    case '$in':
      return membership(operator, argument);
    case '$nin':
      return negation([membership(operator, argument)]);
    case '$not':
      return negate(argument);
    case '$exists':
      return existence(argument);
    case '$type':
      return typed(argument);
    case '$size':
      return size(argument);
    case '$mod':
      return modulo(argument);
    case '$all':
      return all(argument, (element) => conjunction(operatorConditions(element)));
    case '$elemMatch':
      return elementMatch(argument);
    case '$regex':
      return regex(regexArgument(argument, siblings.get('$options')));
    case '$options':
      if (!siblings.has('$regex')) throw failure('BadValue', '$options needs a $regex');
      return undefined;
    case '$comment':
      return undefined;
    default:
      if (refused.has(operator)) throw unsupported(`The operator ${operator}`);
      throw failure('BadValue', `unknown operator: ${operator}`);
  }
}

function negate(argument: BsonValue): Condition {
  if (argument instanceof BSONRegExp) return negation([regex(argument)]);
  if (!isDocument(argument)) throw failure('BadValue', '$not needs a regex or a document');
  if (argument.size === 0) throw failure('BadValue', '$not cannot be empty');
  return negation(operatorConditions(argument));
}

function regexArgument(pattern: BsonValue, options: BsonValue | undefined): BSONRegExp {
  if (options !== undefined && typeof options !== 'string')
    throw failure('BadValue', '$options has to be a string');
  if (pattern instanceof BSONRegExp) {
    if (pattern.options !== '' && options !== undefined)
      throw failure('BadValue', 'options set in both $regex and $options');
    return new BSONRegExp(pattern.pattern, options ?? pattern.options);
  }
  if (typeof pattern !== 'string') throw failure('BadValue', '$regex has to be a string');
  return new BSONRegExp(pattern, options ?? '');
}

/** `$elemMatch` with operators asks its elements as values, otherwise as documents. */
function elementMatch(argument: BsonValue): Condition {
  const { matches, predicates } = compileElementMatch(argument);
  return wholeCondition((value) => Array.isArray(value) && value.some(matches), predicates);
}

/** What the `$elemMatch` of a projection asks of one element. */
export function elementMatcher(argument: BsonValue): (element: BsonValue) => boolean {
  return compileElementMatch(argument).matches;
}

function notHere(operator: string): Error {
  return failure('BadValue', `${operator} can only be applied to the top-level document`);
}

function compileElementMatch(argument: BsonValue): {
  matches: (element: BsonValue) => boolean;
  predicates: (path: string) => Predicate[];
} {
  if (!isDocument(argument)) throw failure('BadValue', '$elemMatch needs an Object');
  const first = argument.keys().next().value ?? '';
  if (isOperators(argument) && !isTopLevelOperator(first)) {
    const asked = conjunction(operatorConditions(argument));
    return { matches: asked.matchesElement, predicates: (path) => asked.predicates?.(path) ?? [] };
  }
  const filter = compileClauses(argument, notHere);
  return {
    matches: (element) => matchesElement(filter, element),
    predicates: (path) => filter.predicates.map((each) => ({ ...each, path: `${path}.${each.path}` })),
  };
}

/** An array among the elements is asked as a document whose names are its positions. */
function matchesElement(filter: Filter, element: BsonValue): boolean {
  if (isDocument(element)) return filter.matches(element);
  return (
    Array.isArray(element) && filter.matches(new Map(element.map((each, index) => [String(index), each])))
  );
}
