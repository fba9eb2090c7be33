import type { SearchTerm } from './search.js';

/** The words of one field of a record, as they are stored. */
export interface StoredWords {
  /** The distinct words, for the index. */
  readonly words: readonly string[];
  /** Each value that a phrase may occur in: its words between spaces, in their order. */
  readonly texts: readonly string[];
}

/** Keys of an index stay short: of a longer word it has the beginning, and the text has all. Unit: UTF-16 code units. */
const MAX_KEY_LENGTH = 64;

/** Stored words of the values of one field. */
export function storedWords(values: readonly SearchTerm[]): StoredWords {
  return {
    words: [...new Set(values.flat().map(keyOf))],
    texts: values.filter(needsText).map(textOf),
  };
}

/** The word as the index has it. */
export function keyOf(word: string): string {
  // Half of a surrogate pair is no character.
  return word.length <= MAX_KEY_LENGTH ? word : word.slice(0, MAX_KEY_LENGTH).replace(/[\ud800-\udbff]$/, '');
}

/** Whether the index alone cannot tell if a term occurs. */
export function needsText(term: SearchTerm): boolean {
  return term.length > 1 || term.some((word) => keyOf(word) !== word);
}

/** Words between spaces, so that one text is part of another only as whole words. */
export function textOf(words: SearchTerm): string {
  return ` ${words.join(' ')} `;
}
