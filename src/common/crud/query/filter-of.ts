import { searchPredicates } from '../search/search.js';
import type { StoreFilter } from '../store/crud.store.js';
import { exactly } from '../store/exact-conditions.js';
import type { Condition, ListQuery, Operator } from './list-query.js';

/** The predicates of a query's conditions and search. No other code turns client input into a filter. */
export function predicatesOf({ conditions = [], search }: ListQuery): StoreFilter[] {
  const asked = conditions.map((condition) => exactly(predicateOf(condition)));
  return [...asked, ...(search ? searchPredicates(search) : [])];
}

function predicateOf({ field: { path, within }, operator, values }: Condition): StoreFilter {
  const [value] = values;
  if (operator !== 'exists') return { [path]: MATCHERS[operator](value, values) };
  if (within === undefined) return { [path]: value ? { $ne: null } : { $eq: null } };
  // Through a list of objects, `$ne` would require that no entry lacks the field.
  const entry = { $elemMatch: { [path.slice(within.length + 1)]: { $ne: null } } };
  return { [within]: value ? entry : { $not: entry } };
}

type Matcher = (value: unknown, values: readonly unknown[]) => object;

/**
 * Operators in terms of the store. For a list, `ne` and `nin` require that no entry matches, as in MongoDB.
 */
const MATCHERS: Readonly<Record<Exclude<Operator, 'exists'>, Matcher>> = {
  eq: (value) => ({ $eq: value }),
  ne: (value) => ({ $ne: value }),
  gt: (value) => ({ $gt: value }),
  gte: (value) => ({ $gte: value }),
  lt: (value) => ({ $lt: value }),
  lte: (value) => ({ $lte: value }),
  in: (_, values) => ({ $in: values }),
  nin: (_, values) => ({ $nin: values }),
  contains: (value) => ({ $regex: literalPattern(String(value)) }),
  startsWith: (value) => ({ $regex: `^${literalPattern(String(value))}` }),
};

/** Maximum length of a text to look for inside another one. Unit: characters (Unicode code points). */
export const MAX_TEXT = 1_000;

/** Letters with case are in the first two planes of Unicode. */
const LAST_CASED = 0x1_ffff;

/** Number of code points to examine at a time, small enough to be the arguments of one call. */
const PART = 0x4000;

/** Letters whose other case is another letter. */
const CASED = /\p{Changes_When_Casemapped}/gu;

/**
 * Two letters that differ only in case. The other case of some letters is several characters, or that of
 * another letter.
 */
const TWINS = /^(.)\1$/iu;

/** Made at first use: it takes some milliseconds, which should not delay the start. */
let classes: ReadonlyMap<string, string> | undefined;

/**
 * A pattern that matches a text literally, ignoring case. Case is folded here, by Unicode's simple case
 * folding, since databases follow different versions of Unicode.
 *
 * @see https://www.unicode.org/reports/tr44/#CaseFolding.txt
 */
function literalPattern(text: string): string {
  classes ??= findClasses();
  const known = classes;
  return [...text].map((character) => known.get(character) ?? escaped(character)).join('');
}

function escaped(character: string): string {
  // MongoDB does not accept a pattern that contains NUL.
  if (character === '\0') return String.raw`\x00`;
  return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
}

/** A character class of the letters that differ only in case, for each of them. */
function findClasses(): ReadonlyMap<string, string> {
  const groups = new Map<string, Set<string>>();
  for (let from = 0; from <= LAST_CASED; from += PART) {
    const part = String.fromCodePoint(...Array.from({ length: PART }, (_, i) => from + i));
    for (const letter of part.match(CASED) ?? []) {
      for (const other of [letter.toLowerCase(), letter.toUpperCase()]) {
        if (other !== letter && TWINS.test(letter + other)) join(groups, letter, other);
      }
    }
  }
  return new Map([...groups].map(([letter, group]) => [letter, `[${[...group].join('')}]`]));
}

function join(groups: Map<string, Set<string>>, letter: string, other: string): void {
  const group = new Set([...(groups.get(letter) ?? [letter]), ...(groups.get(other) ?? [other])]);
  for (const member of group) groups.set(member, group);
}
