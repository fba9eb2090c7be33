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
export function literalPattern(text: string): string {
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
