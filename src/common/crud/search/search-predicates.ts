import type { StoreFilter } from '../store/crud.store.js';
import type { Search } from './search.js';
import { keyOf, needsText, textOf } from './stored-words.js';

/** The predicates of a search over the stored words. */
export function searchPredicates({ definition: { path }, wanted, unwanted }: Search): StoreFilter[] {
  const [words, texts] = [`${path}.words`, `${path}.texts`];
  // The longest word is usually the rarest. A database that cannot tell reads the index of the first one.
  const keys = [...new Set(wanted.flat().map(keyOf))].sort((a, b) => b.length - a.length);
  const [unwantedTexts, unwantedWords] = partition(unwanted, needsText);
  return [
    ...keys.map((word) => ({ [words]: word })),
    // A text contains only letters, digits and spaces, so it is a pattern that matches itself.
    ...wanted.filter(needsText).map((term) => ({ [texts]: { $regex: textOf(term) } })),
    ...(unwantedWords.length > 0 ? [{ [words]: { $nin: unwantedWords.flat() } }] : []),
    ...unwantedTexts.map((term) => ({ [texts]: { $not: { $regex: textOf(term) } } })),
  ];
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}
