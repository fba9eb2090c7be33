/** Maximum number of parameters of a URL. */
const MAX_PARAMETERS = 200;

/** What a query string that can't be read is parsed to: the parser runs before any error can be answered. */
const MALFORMED = Object.freeze({});

/** Parameters by name; one that is given twice has a list of values. */
export type QueryParameters = Readonly<Record<string, string | readonly string[]>>;

/** Whether a query string could not be read. */
export function isMalformed(query: unknown): boolean {
  return query === MALFORMED;
}

/**
 * Parses a query string as `application/x-www-form-urlencoded` (https://url.spec.whatwg.org/#urlencoded-parsing), but
 * strictly: what is no UTF-8, or has too many parameters, is malformed. Brackets are part of a name.
 */
export function parseQueryString(text: string): QueryParameters {
  const parameters = Object.create(null) as Record<string, string | string[]>;
  const pairs = text.split('&', MAX_PARAMETERS + 1).filter((pair) => pair !== '');
  if (pairs.length > MAX_PARAMETERS) return MALFORMED;
  for (const pair of pairs) {
    const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const [name, value] = [decode(pair.slice(0, end)), decode(pair.slice(end + 1))];
    if (name === undefined || value === undefined) return MALFORMED;
    const known = parameters[name];
    parameters[name] = known === undefined ? value : [known, value].flat();
  }
  return parameters;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
