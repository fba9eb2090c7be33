import type { SearchDefinition } from './search-definition.js';

/** Maximum length of a search. Unit: characters (Unicode code points). */
export const MAX_SEARCH_LENGTH = 200;

/** A search term: a word, or words next to each other within one value. */
export type SearchTerm = readonly string[];

/** A search, read. */
export interface Search {
  /** As the client wrote it. */
  readonly text: string;
  readonly definition: SearchDefinition;
  /** Every one of them occurs; there is at least one. */
  readonly wanted: readonly SearchTerm[];
  /** None of them occurs. */
  readonly unwanted: readonly SearchTerm[];
}
