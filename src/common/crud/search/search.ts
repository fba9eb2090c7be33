import type { SearchDefinition } from './search-definition.js';

/** Maximum length of a search. Unit: characters (Unicode code points). */
export const MAX_SEARCH_LENGTH = 200;

/** A search term: a word, or several words next to each other within one value. */
export type SearchTerm = readonly string[];

/** A parsed search. */
export interface Search {
  /** As the client wrote it. */
  readonly text: string;
  readonly definition: SearchDefinition;
  /** Terms that must all occur; at least one. */
  readonly wanted: readonly SearchTerm[];
  /** Terms that must not occur. */
  readonly unwanted: readonly SearchTerm[];
}
