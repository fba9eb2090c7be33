import { type BsonValue, isDocument } from '../../bson/types.js';
import { failure } from '../../errors.js';
import { conjunction, wholeCondition } from '../../query/condition.js';
import { isOperators, isTopLevelOperator, operatorConditions } from '../../query/field.js';
import { compileClauses } from '../../query/filter.js';
import type { Predicate } from '../../query/predicate.js';
import { namesReference } from '../../query/reference.js';
import type { Filter } from '../../query/types.js';
import { fieldOperators } from '../registry.js';

/** With operators it asks its elements as values, otherwise as documents. */
fieldOperators.define('$elemMatch', (argument) => {
  const { matches, predicates } = compileElementMatch(argument);
  return wholeCondition((value) => Array.isArray(value) && value.some(matches), predicates);
});

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
