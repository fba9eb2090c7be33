import type { BsonDocument, BsonValue } from '../bson/types.js';
import type { Interval, Predicate } from './predicate.js';
import { type Path, someAt, type Test } from './path.js';

/** What is asked of one field. */
export interface Condition {
  /** Whether a document has a fitting value at the path. */
  matchesAt(document: BsonDocument, path: Path): boolean;
  /** Whether a single value fits, without a look into arrays; this is what `$elemMatch` asks. */
  matchesElement(value: BsonValue | undefined): boolean;
  /** What an index over a path can know of it. */
  predicates?(path: string): Predicate[];
  /** Whether it looks into the array it asks for: its predicates then hold for a path and not for an element of an array. */
  whole?: boolean;
  /** Whether the predicates say all of it where no array lies on the path and a missing field counts as null. */
  exact?: boolean;
}

/** What an index can know of a condition. */
export interface Bounds {
  intervals: Interval[];
  includesMissing: boolean;
  exact: boolean;
}

/** A condition over each value at a path, which an index can narrow down to intervals. */
export function condition(test: Test, bounds?: Bounds): Condition {
  return {
    matchesAt: (document, path) => someAt(document, path, true, test),
    matchesElement: test,
    predicates: (path) =>
      bounds ? [{ path, intervals: bounds.intervals, includesMissing: bounds.includesMissing }] : [],
    exact: bounds?.exact ?? false,
  };
}

/** A condition over what stands at the path as a whole: arrays are not tested element by element. */
export function wholeCondition(test: Test, predicates?: (path: string) => Predicate[]): Condition {
  return {
    matchesAt: (document, path) => someAt(document, path, false, test),
    matchesElement: test,
    predicates,
    whole: true,
  };
}

/** True where not all of the conditions are. */
export function negation(conditions: readonly Condition[]): Condition {
  return {
    matchesAt: (document, path) => !conditions.every((each) => each.matchesAt(document, path)),
    matchesElement: (value) => !conditions.every((each) => each.matchesElement(value)),
  };
}

/** True where all of the conditions are. */
export function conjunction(conditions: readonly Condition[]): Condition {
  return {
    matchesAt: (document, path) => conditions.every((each) => each.matchesAt(document, path)),
    matchesElement: (value) => conditions.every((each) => each.matchesElement(value)),
    predicates: (path) => conditions.flatMap((each) => each.predicates?.(path) ?? []),
    whole: conditions.some((each) => each.whole),
    exact: conditions.every((each) => each.exact ?? false),
  };
}

/** Never true. */
export const never: Condition = { matchesAt: () => false, matchesElement: () => false };
