/** Maximum length of a text that is looked for inside of another one. Unit: characters (Unicode code points). */
export const MAX_TEXT = 1_000;

/** Letters with case lie in the first two planes of Unicode. */
const LAST_CASED = 0x1_ffff;

/** Code points that are looked through at a time, few enough to be the arguments of one call. */
const PART = 0x4000;

/** Letters whose other case is another letter. */
const CASED = /\p{Changes_When_Casemapped}/gu;

/** Two letters that differ in case only. Of some letters the other case is several characters, or is another letter's. */
const TWINS = /^(.)\1$/iu;

/** Made at first use: it takes some milliseconds, which no start should wait for. */
let classes: ReadonlyMap<string, string> | undefined;

/**
 * A pattern that matches a text literally, ignoring case. Case is folded here, by Unicode's simple case folding, since
 * databases differ in the version of Unicode that their own option goes by.
 *
 * @see https://www.unicode.org/reports/tr44/#CaseFolding.txt
 */
export function literalPattern(text: string): string {
  classes ??= findClasses();
  const known = classes;
  return [...text].map((character) => known.get(character) ?? escaped(character)).join('');
}

function escaped(character: string): string {
  // MongoDB takes no pattern with a NUL in it.
  if (character === '\0') return String.raw`\x00`;
  return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
}

/** The letters that differ in case only, as a class of characters, by each of them. */
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
