import { type BsonValue, isDocument } from '../bson/types.js';
import { badValue } from '../errors.js';
import { conjunction } from './condition.js';
import { isOperators, isTopLevelOperator, operatorConditions } from './field.js';
import { compileClauses } from './filter.js';
import type { Predicate } from './predicate.js';
import { namesReference } from './reference.js';
import type { Filter } from './types.js';

/** A condition on one element of an array. */
export interface ElementMatch {
  matches(element: BsonValue): boolean;
  /** The information that an index over the array's path can use. */
  predicates(path: string): Predicate[];
}

/**
 * The argument of `$elemMatch`: operators apply to an element as a value, anything else to it as a document.
 */
export function compileElementMatch(argument: BsonValue): ElementMatch {
  if (!isDocument(argument)) throw badValue('$elemMatch needs an Object');
  const first = argument.keys().next().value ?? '';
  if (isOperators(argument) && !isTopLevelOperator(first) && !namesReference(argument)) {
    const conditions = operatorConditions(argument);
    // An index holds an array inside an array as one value, without its contents.
    const asked = conditions.filter((each) => !each.whole);
    return {
      matches: conjunction(conditions).matchesElement,
      predicates: (path) => conjunction(asked).predicates?.(path) ?? [],
    };
  }
  const filter = compileClauses(argument, { onTopLevel: notHere });
  return {
    matches: (element) => matchesElement(filter, element),
    // An element that is not a document lacks the field here, but not for an index or another filter.
    predicates: (path) =>
      filter.predicates
        .filter((each) => !each.includesMissing)
        .map((each) => ({ ...each, path: `${path}.${each.path}` })),
  };
}

/** An array inside the array is treated as a document whose names are the positions. */
function matchesElement(filter: Filter, element: BsonValue): boolean {
  if (isDocument(element)) return filter.matches(element);
  return (
    Array.isArray(element) && filter.matches(new Map(element.map((each, index) => [String(index), each])))
  );
}

function notHere(operator: string): Error {
  return badValue(`${operator} can only be applied to the top-level document`);
}
