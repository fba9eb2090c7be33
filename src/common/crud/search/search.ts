import { createHash } from 'node:crypto';
import { errorMessages, type Violation } from '../../errors/index.js';
import type { StoreFilter } from '../store/crud.store.js';

/** Hidden member of a record that holds the words of its searched fields. Only the store knows it. */
export const WORDS = '_words';

/** Increased when words are made or stored differently, so that the words of every record are made again. */
const FORMAT = 1;

/** The fields that `q` searches. */
export interface SearchDefinition {
  /** Paths of the fields that are searched. */
  readonly fields: readonly string[];
  /**
   * Path of the stored words, a list with an entry for each field. The path names the declaration, so that
   * the words of other fields, as another version of the service stores them, are not mistaken for these.
   */
  readonly path: string;
  /** The sets of fields that scope lists and counts. Each set gets an index that finds the words. */
  readonly scopes: readonly (readonly string[])[];
}

/** The definition of a search, if any field is searched. */
export function searchDefinition(
  fields: readonly string[],
  scopes: readonly (readonly string[])[],
): SearchDefinition | undefined {
  if (fields.length === 0) return undefined;
  const declaration = JSON.stringify([FORMAT, process.versions.unicode, fields]);
  const version = createHash('sha256').update(declaration).digest('hex').slice(0, 8);
  return { fields, path: `${WORDS}.v${version}`, scopes };
}

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

/** Letters, digits and the marks that belong to them. Invisible characters do not separate words. */
const RUN = /[\p{L}\p{N}\p{M}\p{Default_Ignorable_Code_Point}]+/gu;

/** A word after folding. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/**
 * Accents, the points of Hebrew and Arabic, and invisible characters. Not removed: vowel signs of Indic
 * scripts, and the marks that distinguish か from が, because they make another letter.
 */
const ACCENTS =
  /(?![\u3099\u309A])(?:\p{Default_Ignorable_Code_Point}|(?=\p{M})[\p{Script=Inherited}\p{Script=Hebrew}])/gu;

/** Letters with a stroke, and ligatures, which Unicode does not decompose. */
const STROKED: Readonly<Record<string, string>> = {
  Æ: 'AE',
  Œ: 'OE',
  Ø: 'O',
  Đ: 'D',
  Ħ: 'H',
  Ł: 'L',
  Ŧ: 'T',
};

/** An invisible space that does separate words. */
const ZERO_WIDTH_SPACE = '\u200B';

/** Texts with only these characters are folded by case only, which is several times faster. */
// eslint-disable-next-line no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

/** The words of a text in order: runs of letters and digits, the same for any case and accents. */
export function wordsOf(text: string): string[] {
  if (ASCII.test(text)) return text.toUpperCase().match(/[A-Z0-9]+/g) ?? [];
  const runs = text.replaceAll(ZERO_WIDTH_SPACE, ' ').match(RUN) ?? [];
  // All at once, since folding has a price of its own. A single character, such as U+FDFA, may be several words.
  return fold(runs.join(' ')).match(WORD) ?? [];
}

/** Lower case first: ẞ has no upper case, and that of ß is SS. Then upper case, since σ and ς share it. */
function fold(runs: string): string {
  return withoutAccents(withoutAccents(runs).toLowerCase().toUpperCase()).replace(
    /[ÆŒØĐĦŁŦ]/g,
    (letter) => STROKED[letter] ?? letter,
  );
}

function withoutAccents(text: string): string {
  return text.normalize('NFKD').replace(ACCENTS, '');
}

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

/** A quoted phrase, or the text between white space and quotes. A leading minus excludes it. */
const PARTS = /(?<minus>-?)(?:"(?<phrase>[^"]*)"|(?<words>[^\s"]+))/g;

/** Reads the parameter `q`: words and quoted phrases, which a leading minus excludes. */
export function readSearch(
  text: string,
  definition: SearchDefinition | undefined,
  violations: Violation[],
): Search | undefined {
  if (!definition) return undefined;
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
