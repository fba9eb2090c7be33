import type { HttpResponse } from '../request/index.js';

/** A quality value (RFC 9110, section 12.4.2). */
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** The media type that the client prefers; the first one if several are equal, or if it accepts none of them. */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  const accepted = readList(accept ?? '*/*');
  // The most specific range that matches a type decides, regardless of its position.
  const qualityOf = (type: string) => firstOf(accepted, [type, type.replace(/\/.*/, '/*'), '*/*']) ?? 0;
  return offered.reduce((best, type) => (qualityOf(type) > qualityOf(best) ? type : best));
}

/** Whether the client prefers gzip to no coding; not if it sends no `Accept-Encoding` (RFC 9110, section 12.5.3). */
export function prefersGzip(acceptEncoding = ''): boolean {
  const accepted = readList(acceptEncoding);
  const quality = firstOf(accepted, ['gzip', '*']) ?? 0;
  return quality > 0 && quality >= (accepted.get('identity') ?? 0);
}

/** The quality of the first of the names that is in the list. */
function firstOf(list: ReadonlyMap<string, number>, names: readonly string[]): number | undefined {
  return names.map((name) => list.get(name)).find((quality) => quality !== undefined);
}

/** Maximum number of entries that are read; no client has that many. */
const MAX_ENTRIES = 64;

/** The qualities in a list, by name, without malformed entries, other parameters, and what exceeds the maximum. */
function readList(header: string): Map<string, number> {
  // Quoted strings may contain commas and semicolons, and only occur in such parameters.
  const unquoted = header.replaceAll(/"(?:\\.|[^"\\])*"?/g, '');
  const qualities = new Map<string, number>();
  for (const text of unquoted.split(',', MAX_ENTRIES)) {
    const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '') ?? '1';
    if (QUALITY.test(quality) && !qualities.has(name)) qualities.set(name, Number(quality));
  }
  return qualities;
}

/** Adds a request header to those that the response depends on (RFC 9110, section 12.5.5), such as CORS's `Origin`. */
export function varyBy(reply: HttpResponse, header: string): void {
  const named = [reply.getHeader('Vary') ?? []].flat().flatMap((names) => String(names).split(', '));
  if (!named.includes(header)) reply.header('Vary', [...named, header].join(', '));
}
