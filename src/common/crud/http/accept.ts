/** A media range of `Accept` and the quality that it gives to what it matches (RFC 9110, section 12.5.1). */
interface MediaRange {
  readonly range: string;
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
  const ranges = readRanges(accept ?? '*/*');
  const [first, ...others] = offered;
  return others.reduce<T>(
    (best, type) => (qualityOf(type, ranges) > qualityOf(best, ranges) ? type : best),
    first,
  );
}

/** The most specific range that matches a type decides, wherever it stands. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const matching = [type, type.replace(/\/.*/, '/*'), '*/*'];
  const decisive = matching.map((name) => ranges.find(({ range }) => range === name));
  return decisive.find((found) => found !== undefined)?.quality ?? 0;
}

/** Reads `Accept`; parameters other than the quality are disregarded, and so is a range that is malformed. */
function readRanges(accept: string): MediaRange[] {
  // Quoted strings may have commas and semicolons in them, and belong to such parameters.
  const unquoted = accept.replaceAll(/"(?:\\.|[^"\\])*"?/g, '');
  return unquoted.split(',').flatMap((text) => {
    const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '') ?? '1';
    return range.includes('/') && QUALITY.test(quality) ? [{ range, quality: Number(quality) }] : [];
  });
}
