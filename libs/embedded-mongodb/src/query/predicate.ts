import type { BsonValue } from '../bson/types.js';

/**
 * What a filter demands, reduced to what an index can serve. The planner derives index bounds from it; every candidate
 * that the bounds let through is checked again by the filter's own matcher, so a predicate may demand less than the
 * filter does, and never more.
 *
 * Paths are complete (`a.b` for `{ a: { $elemMatch: { b: … } } }`).
 */
export type Predicate =
  /** All, or at least one, of the children hold. An `and` without children demands nothing. */
  | { kind: 'and' | 'or'; children: Predicate[] }
  /** `{ path: value }`, `$eq`, and `$in` (one entry per value, regular expressions excluded: they are a `prefix` or `any`). */
  | { kind: 'in'; path: string; values: BsonValue[] }
  /** `$gt`, `$gte`, `$lt`, `$lte`: within the type of the value. */
  | { kind: 'range'; path: string; operator: '$gt' | '$gte' | '$lt' | '$lte'; value: BsonValue }
  /** A case-sensitive regular expression whose matches all begin with `prefix`. */
  | { kind: 'prefix'; path: string; prefix: string }
  /** `{ path: { $exists: true } }` */
  | { kind: 'exists'; path: string }
  /** Something that no index bounds can express: `$ne`, `$nin`, `$not`, `$nor`, `$type`, `$size`, `$expr`, … */
  | { kind: 'any' };

/** The words that `{ $text: … }` asks for. */
export interface TextSearch {
  /** The `$search` string as it was given. */
  search: string;
  /** @default false */
  caseSensitive: boolean;
  /** @default false */
  diacriticSensitive: boolean;
  /** `$language`, when given. */
  language?: string;
}

/**
 * A filter, as the planner and the commands see it.
 */
export interface PlannableFilter {
  /** What index bounds may be derived from. */
  predicate: Predicate;
  /** The `$text` of the filter, if there is one; the matcher itself takes it as fulfilled. */
  text?: TextSearch;
}
