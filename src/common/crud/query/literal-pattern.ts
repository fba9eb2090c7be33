/** Maximum length of a text that is looked for inside of another one. Unit: characters (Unicode code points). */
export const MAX_TEXT = 1_000;

/** Letters with case lie in the first two planes of Unicode. */
const LAST_CASED = 0x1_ffff;

/** Made at the start: it takes some milliseconds, which no request should wait for. */
const TWINS = findTwins();

/**
 * A pattern that matches a text literally, ignoring case. Case is folded here, by Unicode's simple case folding, since
 * databases differ in the version of Unicode that their own option goes by.
 *
 * @see https://www.unicode.org/reports/tr44/#CaseFolding.txt
 */
export function literalPattern(text: string): string {
  return [...text].map((character) => TWINS.get(character) ?? escaped(character)).join('');
}

function escaped(character: string): string {
  // MongoDB takes no pattern with a NUL in it.
  if (character === '\0') return String.raw`\x00`;
  return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
}

/** The letters that differ in case only, as a class of characters, by each of them. */
function findTwins(): ReadonlyMap<string, string> {
  const groups = new Map<string, Set<string>>();
  for (let code = 0; code <= LAST_CASED; code++) {
    const letter = String.fromCodePoint(code);
    const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()];
    for (const other of [lower, upper])
      if (other !== letter && areTwins(letter, other)) join(groups, letter, other);
  }
  return new Map([...groups].map(([letter, group]) => [letter, `[${[...group].join('')}]`]));
}

/** Of some letters the other case is several characters, or is another letter's. */
function areTwins(letter: string, other: string): boolean {
  return new RegExp(`^${letter}$`, 'iu').test(other);
}

function join(groups: Map<string, Set<string>>, letter: string, other: string): void {
  const group = new Set([...(groups.get(letter) ?? [letter]), ...(groups.get(other) ?? [other])]);
  for (const member of group) groups.set(member, group);
}
