/** Something that a client accepts, and how much it likes it (RFC 9110, section 12.4.2). */
interface Weighted {
  readonly name: string;
  readonly quality: number;
}

/** A quality value (RFC 9110, section 12.4.2). */
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * The media type that a client likes best, of those on offer; the first of them if it likes several alike, sends no
 * `Accept`, or accepts none: RFC 9110 lets a server disregard the header then.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  const ranges = readList(accept ?? '*/*');
  const [first, ...others] = offered;
  return others.reduce<T>(
    (best, type) => (qualityOfType(type, ranges) > qualityOfType(best, ranges) ? type : best),
    first,
  );
}

/**
 * The content coding that a client likes best, of those on offer; the first of them if it likes several alike. Undefined if
 * it sends no `Accept-Encoding`, accepts none of them, or likes the answer better as it is (RFC 9110, section 12.5.3).
 */
export function preferredCoding<T extends string>(
  acceptEncoding: string | undefined,
  offered: readonly T[],
): T | undefined {
  const accepted = readList(acceptEncoding ?? '');
  let least = firstOf(accepted, ['identity'])?.quality ?? 0;
  let best: T | undefined;
  for (const coding of offered) {
    const quality = firstOf(accepted, [coding, '*'])?.quality ?? 0;
    if (quality === 0 || quality < least || (best !== undefined && quality === least)) continue;
    best = coding;
    least = quality;
  }
  return best;
}

/** The most specific range that matches a type decides, wherever it stands. */
function qualityOfType(type: string, ranges: readonly Weighted[]): number {
  return firstOf(ranges, [type, type.replace(/\/.*/, '/*'), '*/*'])?.quality ?? 0;
}

/** The entry of the first name that has one. */
function firstOf(list: readonly Weighted[], names: readonly string[]): Weighted | undefined {
  const found = names.map((name) => list.find((entry) => entry.name === name));
  return found.find((entry) => entry !== undefined);
}

/** Reads a list; parameters other than the quality are disregarded, and so is an entry that is malformed. */
function readList(header: string): Weighted[] {
  // Quoted strings may have commas and semicolons in them, and belong to such parameters.
  const unquoted = header.replaceAll(/"(?:\\.|[^"\\])*"?/g, '');
  return unquoted.split(',').flatMap((text) => {
    const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '') ?? '1';
    return QUALITY.test(quality) ? [{ name, quality: Number(quality) }] : [];
  });
}
