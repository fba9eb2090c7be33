/** A range of code points, both ends included. */
export type CodePoints = readonly [low: number, high: number];

/** Where the letters with a case lie that are compared without one: Latin, Greek, Cyrillic, Armenian, and signs like K. */
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

/** Equal in later versions of Unicode only than the one that MongoDB 7.0 goes by. */
const apart: ReadonlySet<number> = new Set([0x390, 0x3b0, 0x1fd3, 0x1fe3]);

let variants: Map<number, number[]> | undefined;

/**
 * The code points that equal one where case does not count, itself included.
 *
 * @returns `undefined` for letters of rarer scripts, of which it is not known here
 */
export function caseVariants(point: number): readonly number[] | undefined {
  const text = String.fromCodePoint(point);
  const known = blocks.some(([low, high]) => point >= low && point <= high);
  if (!known) return text.toLowerCase() === text && text.toUpperCase() === text ? [point] : undefined;
  variants ??= readVariants();
  return variants.get(point) ?? [point];
}

/** The same for ranges: they and all variants of what is in them. */
export function withCaseVariants(ranges: readonly CodePoints[]): CodePoints[] | undefined {
  variants ??= readVariants();
  const added: CodePoints[] = [];
  for (const [low, high] of ranges) {
    // Beyond a single character a range is only known to be complete inside the blocks.
    if (low !== high && !isCovered(low, high)) return undefined;
    if (low === high && !caseVariants(low)) return undefined;
    for (const [point, others] of variants) {
      if (point >= low && point <= high) added.push(...others.map((each): CodePoints => [each, each]));
    }
  }
  return [...ranges, ...added];
}

function isCovered(low: number, high: number): boolean {
  return high < 0x590 || blocks.some(([first, last]) => low >= first && high <= last);
}

/** Read off the engine: two letters are equal where it finds one with the other. */
function readVariants(): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  const cased = blocks.flatMap(([low, high]) => {
    const points = Array.from({ length: high - low + 1 }, (_, index) => low + index);
    return points.filter((point) => {
      const text = String.fromCodePoint(point);
      return text.toLowerCase() !== text || text.toUpperCase() !== text;
    });
  });
  const all = String.fromCodePoint(...cased);
  for (const point of cased) {
    if (groups.has(point) || apart.has(point)) continue;
    const found = all.match(new RegExp(`\\u{${point.toString(16)}}`, 'giu')) ?? [];
    const group = found.map((each) => each.codePointAt(0) as number);
    for (const member of group) groups.set(member, group);
  }
  return groups;
}
