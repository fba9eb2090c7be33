import { BSONRegExp } from 'bson';
import { type BsonDocument, BsonUndefined, type BsonValue, isDocument } from '../bson/types.js';
import { failure, failureAt, unsupported } from '../errors.js';
import { type Condition, conjunction, negation, wholeCondition } from './condition.js';
import { compileClauses, type Filter } from './filter.js';
import {
  all,
  equality,
  existence,
  isReference,
  namesReference,
  membership,
  modulo,
  range,
  regex,
  size,
  typed,
} from './operators.js';
import type { Predicate } from './predicate.js';
import { checkOptions } from './regex.js';

/** Operators of real MongoDB that a filter of this server refuses. */
export const refusedOperators: ReadonlySet<string> = new Set([
  '$where',
  '$text',
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

/** What a filter asks of one field: operators, a regular expression or a value to be equal to. */
export function fieldCondition(argument: BsonValue): Condition {
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
      if (refusedOperators.has(operator)) throw unsupported(`The operator ${operator}`);
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
  if (options !== undefined) checkOptions(options);
  if (pattern instanceof BSONRegExp) {
    if (pattern.options !== '' && options !== undefined)
      throw failureAt(51075, 'options set in both $regex and $options');
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

/** Whether an operator stands in the place of a field rather than below one. */
export function isTopLevelOperator(name: string): boolean {
  return ['$and', '$or', '$nor', '$where', '$expr'].includes(name);
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
  if (isOperators(argument) && !isTopLevelOperator(first) && !namesReference(argument)) {
    const conditions = operatorConditions(argument);
    // An index holds an array inside an array as one value, and nothing of what is in it.
    const asked = conditions.filter((each) => !each.whole);
    return {
      matches: conjunction(conditions).matchesElement,
      predicates: (path) => conjunction(asked).predicates?.(path) ?? [],
    };
  }
  const filter = compileClauses(argument, { onTopLevel: notHere });
  return {
    matches: (element) => matchesElement(filter, element),
    // An element that is no document can lack a field without lacking it for an index or for another filter.
    predicates: (path) =>
      filter.predicates
        .filter((each) => !each.includesMissing)
        .map((each) => ({ ...each, path: `${path}.${each.path}` })),
  };
}

/** An array among the elements is asked as a document whose names are its positions. */
function matchesElement(filter: Filter, element: BsonValue): boolean {
  if (isDocument(element)) return filter.matches(element);
  return (
    Array.isArray(element) && filter.matches(new Map(element.map((each, index) => [String(index), each])))
  );
}
