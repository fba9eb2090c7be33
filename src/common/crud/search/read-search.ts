import { errorMessages, type Violation } from '../../errors/index.js';
import { MAX_SEARCH_LENGTH, type Search, type SearchTerm } from './search.js';
import type { SearchDefinition } from './search-definition.js';
import { wordsOf } from './words.js';

/** A quoted phrase, or the text between white space and quotes. A leading minus excludes it. */
const PARTS = /(?<minus>-?)(?:"(?<phrase>[^"]*)"|(?<words>[^\s"]+))/g;

/** Reads the parameter `q`: words and quoted phrases, which a leading minus excludes. */
export function readSearch(
  text: string | undefined,
  definition: SearchDefinition | undefined,
  violations: Violation[],
): Search | undefined {
  if (text === undefined || !definition) return undefined;
  const refuse = (detail: string) => {
    violations.push({ parameter: 'q', detail });
    return undefined;
  };
  // Before any other work is done on it.
  if (text.length > 2 * MAX_SEARCH_LENGTH || [...text].length > MAX_SEARCH_LENGTH) {
    return refuse(errorMessages.searchTooLong(MAX_SEARCH_LENGTH));
  }
  if ((text.split('"').length - 1) % 2 === 1) return refuse(errorMessages.unbalancedQuotes);
  const [wanted, unwanted] = [new Map<string, SearchTerm>(), new Map<string, SearchTerm>()];
  for (const { groups: { minus, phrase, words } = {} } of text.matchAll(PARTS)) {
    const terms = phrase === undefined ? wordsOf(words ?? '').map((word) => [word]) : [wordsOf(phrase)];
    for (const term of terms) {
      if (term.length > 0) (minus ? unwanted : wanted).set(term.join(' '), term);
    }
  }
  if (wanted.size === 0) return refuse(errorMessages.nothingToFind);
  return { text, definition, wanted: [...wanted.values()], unwanted: [...unwanted.values()] };
}
