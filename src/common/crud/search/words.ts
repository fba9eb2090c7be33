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
