import type { HttpResponse } from '../request/index.js';

/** An accepted value and its quality (RFC 9110, section 12.4.2). */
interface Weighted {
  readonly name: string;
  readonly quality: number;
}

/** A quality value (RFC 9110, section 12.4.2). */
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * The media type on offer that the client prefers; the first one if several are equal, or if the client sends
 * no `Accept` or accepts none of them: RFC 9110 allows a server to ignore the header then.
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
 * Whether the client prefers gzip to the response without coding; not if it sends no `Accept-Encoding` (RFC 9110,
 * section 12.5.3).
 */
export function prefersGzip(acceptEncoding = ''): boolean {
  const accepted = readList(acceptEncoding);
  const quality = firstOf(accepted, ['gzip', '*'])?.quality ?? 0;
  return quality > 0 && quality >= (firstOf(accepted, ['identity'])?.quality ?? 0);
}

/** The most specific range that matches a type decides, regardless of its position. */
function qualityOfType(type: string, ranges: readonly Weighted[]): number {
  return firstOf(ranges, [type, type.replace(/\/.*/, '/*'), '*/*'])?.quality ?? 0;
}

/** The first entry that has one of the names, in the order of the names. */
function firstOf(list: readonly Weighted[], names: readonly string[]): Weighted | undefined {
  const found = names.map((name) => list.find((entry) => entry.name === name));
  return found.find((entry) => entry !== undefined);
}

/** Maximum number of entries that are read; no client has that many. */
const MAX_ENTRIES = 64;

/** Reads a list, ignoring malformed entries, parameters other than the quality, and what exceeds the maximum. */
function readList(header: string): Weighted[] {
  // Quoted strings may contain commas and semicolons, and only occur in such parameters.
  const unquoted = header.replaceAll(/"(?:\\.|[^"\\])*"?/g, '');
  return unquoted.split(',', MAX_ENTRIES).flatMap((text) => {
    const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '') ?? '1';
    return QUALITY.test(quality) ? [{ name, quality: Number(quality) }] : [];
  });
}

/** Adds a request header to those that the response depends on (RFC 9110, section 12.5.5), such as CORS's `Origin`. */
export function varyBy(reply: HttpResponse, header: string): void {
  const named = [reply.getHeader('Vary') ?? []].flat().flatMap((names) => String(names).split(', '));
  if (!named.includes(header)) reply.header('Vary', [...named, header].join(', '));
}
