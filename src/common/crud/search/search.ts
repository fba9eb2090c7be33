import { errorMessages } from '../../errors/index.js';
import type { StoreFilter } from '../schema/store-types.js';
import { keyOf, needsText, type SearchDefinition, type SearchTerm, textOf, wordsOf } from './words.js';

/** Maximum length of a search. Unit: characters (Unicode code points). */
export const MAX_SEARCH_LENGTH = 200;

/** A parsed search. */
export interface Search {
  readonly definition: SearchDefinition;
  /** Terms that must all occur; at least one. */
  readonly wanted: readonly SearchTerm[];
  /** Terms that must not occur. */
  readonly unwanted: readonly SearchTerm[];
}

/** The predicates of a search over the stored words. */
export function searchPredicates({ definition: { path }, wanted, unwanted }: Search): StoreFilter[] {
  const [words, texts] = [`${path}.words`, `${path}.texts`];
  // The longest word is usually the rarest. A database that cannot tell reads the index of the first one.
  const keys = [...new Set(wanted.flat().map(keyOf))].sort((a, b) => b.length - a.length);
  const unwantedWords = unwanted.filter((term) => !needsText(term)).flat();
  return [
    ...keys.map((word) => ({ [words]: word })),
    // A text contains only letters, digits and spaces, so it is a pattern that matches itself.
    ...wanted.filter(needsText).map((term) => ({ [texts]: { $regex: textOf(term) } })),
    ...(unwantedWords.length > 0 ? [{ [words]: { $nin: unwantedWords } }] : []),
    ...unwanted.filter(needsText).map((term) => ({ [texts]: { $not: { $regex: textOf(term) } } })),
  ];
}

/** A quoted phrase, or the text between white space and quotes. A leading minus excludes it. */
const PARTS = /(?<minus>-?)(?:"(?<phrase>[^"]*)"|(?<words>[^\s"]+))/g;

/** Reads the parameter `q`: words and quoted phrases, which a leading minus excludes. */
export function readSearch(
  text: string,
  definition: SearchDefinition | undefined,
  reject: (parameter: string, detail: string) => undefined,
): Search | undefined {
  if (!definition) return undefined;
  // Before any other work is done on it.
  if (text.length > 2 * MAX_SEARCH_LENGTH || [...text].length > MAX_SEARCH_LENGTH)
    return reject('q', errorMessages.searchTooLong(MAX_SEARCH_LENGTH));
  if ((text.split('"').length - 1) % 2 === 1) return reject('q', errorMessages.unbalancedQuotes);
  const [wanted, unwanted] = [new Map<string, SearchTerm>(), new Map<string, SearchTerm>()];
  for (const { groups: { minus, phrase, words } = {} } of text.matchAll(PARTS)) {
    const terms = phrase === undefined ? wordsOf(words ?? '').map((word) => [word]) : [wordsOf(phrase)];
    for (const term of terms) {
      if (term.length > 0) (minus ? unwanted : wanted).set(term.join(' '), term);
    }
  }
  if (wanted.size === 0) return reject('q', errorMessages.nothingToFind);
  return { definition, wanted: [...wanted.values()], unwanted: [...unwanted.values()] };
}
