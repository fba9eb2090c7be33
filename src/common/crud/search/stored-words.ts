import type { SearchTerm } from './search.js';

/** The stored words of one field of a record. */
export interface StoredWords {
  /** The distinct words, for the index. */
  readonly words: readonly string[];
  /** Each value that a phrase may occur in: its words in order, separated by spaces. */
  readonly texts: readonly string[];
}

/**
 * Keeps index keys short: the index holds the beginning of a longer word, the text all of it. Unit: UTF-16
 * code units.
 */
const MAX_KEY_LENGTH = 64;

/** Makes the stored words of the values of one field. */
export function storedWords(values: readonly SearchTerm[]): StoredWords {
  const words = new Set<string>();
  for (const value of values) for (const word of value) words.add(keyOf(word));
  return {
    words: [...words],
    texts: values.filter(needsText).map(textOf),
  };
}

/** The word as the index holds it. */
export function keyOf(word: string): string {
  // Half of a surrogate pair is not a character.
  return word.length <= MAX_KEY_LENGTH ? word : word.slice(0, MAX_KEY_LENGTH).replace(/[\ud800-\udbff]$/, '');
}

/** Whether the index is not enough to tell if a term occurs. */
export function needsText(term: SearchTerm): boolean {
  return term.length > 1 || term.some((word) => keyOf(word) !== word);
}

/** Words with spaces around them, so that one text is part of another only as whole words. */
export function textOf(words: SearchTerm): string {
  return ` ${words.join(' ')} `;
}
