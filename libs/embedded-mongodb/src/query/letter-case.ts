/** A range of code points, both ends included. */
export type CodePoints = readonly [low: number, high: number];

/**
 * The ranges of letters whose case can be ignored here: Latin, Greek, Cyrillic, Armenian, and symbols such as
 * the kelvin sign.
 */
const blocks: readonly CodePoints[] = [
  [0x41, 0x58f],
  [0x1c80, 0x1c88],
  [0x1d79, 0x1d8e],
  [0x1e00, 0x1fff],
  [0x2126, 0x214e],
  [0x2c60, 0x2c7f],
  [0xa640, 0xa7ca],
  [0xab53, 0xab53],
];

/** Letters that are equal only in later versions of Unicode than the one MongoDB 7.0 uses. */
const apart: ReadonlySet<number> = new Set([0x390, 0x3b0, 0x1fd3, 0x1fe3]);

/** Maximum size of a range whose letters are looked up one by one. */
const maxRange = 1_000;

let letters: string | undefined;

/**
 * The code points that equal one if case is ignored, including itself: those that the JavaScript engine
 * matches.
 *
 * @returns `undefined` for letters of rarer scripts, for which this is unknown
 */
export function caseVariants(point: number): readonly number[] | undefined {
  const text = String.fromCodePoint(point);
  if (!blocks.some(([low, high]) => point >= low && point <= high))
    return text.toLowerCase() === text && text.toUpperCase() === text ? [point] : undefined;
  letters ??= String.fromCodePoint(...blocks.flatMap((range) => [...pointsOf(range)]));
  const found = apart.has(point) ? [] : letters.match(new RegExp(`\\u{${point.toString(16)}}`, 'giu'));
  return [...new Set([point, ...(found ?? []).map((each) => each.codePointAt(0) as number)])];
}

/** The same for ranges: the ranges and all variants of their letters. */
export function withCaseVariants(ranges: readonly CodePoints[]): CodePoints[] | undefined {
  if (ranges.some(([low, high]) => high - low > maxRange)) return undefined;
  const variants = ranges.flatMap((range) => [...pointsOf(range)].map(caseVariants));
  if (variants.includes(undefined)) return undefined;
  return variants.flatMap((each) => each ?? []).map((point) => [point, point]);
}

function* pointsOf([low, high]: CodePoints): Generator<number> {
  for (let point = low; point <= high; point++) yield point;
}
