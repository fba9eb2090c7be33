import type { BsonDocument, BsonValue } from '../bson/types.js';
import type { Interval, Predicate } from './predicate.js';
import { type Path, someAt, type Test } from './path.js';

/** A condition on one field. */
export interface Condition {
  /** Whether a document has a matching value at the path. */
  matchesAt(document: BsonDocument, path: Path): boolean;
  /** Whether a single value matches, without looking into arrays; this is what `$elemMatch` needs. */
  matchesElement(value: BsonValue | undefined): boolean;
  /** The information that an index over a path can use. */
  predicates?(path: string): Predicate[];
  /**
   * Whether it looks into arrays itself: its predicates then apply to a path but not to an element of an
   * array.
   */
  whole?: boolean;
  /**
   * Whether the predicates are equivalent to it if there is no array on the path and a missing field counts
   * as null.
   */
  exact?: boolean;
}

/** The information about a condition that an index can use. */
export interface Bounds {
  intervals: Interval[];
  includesMissing: boolean;
  exact: boolean;
}

/** A condition on each value at a path, which an index can narrow down to intervals. */
export function condition(test: Test, bounds?: Bounds): Condition {
  return {
    matchesAt: (document, path) => someAt(document, path, true, test),
    matchesElement: test,
    predicates: (path) =>
      bounds ? [{ path, intervals: bounds.intervals, includesMissing: bounds.includesMissing }] : [],
    exact: bounds?.exact ?? false,
  };
}

/** A condition on the value at the path as a whole: arrays are not tested element by element. */
export function wholeCondition(test: Test, predicates?: (path: string) => Predicate[]): Condition {
  return {
    matchesAt: (document, path) => someAt(document, path, false, test),
    matchesElement: test,
    predicates,
    whole: true,
  };
}

/** True if not all of the conditions are. */
export function negation(conditions: readonly Condition[]): Condition {
  return {
    matchesAt: (document, path) => !conditions.every((each) => each.matchesAt(document, path)),
    matchesElement: (value) => !conditions.every((each) => each.matchesElement(value)),
  };
}

/** True if all of the conditions are. */
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
