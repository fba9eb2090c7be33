import { errorMessages } from '../errors/index.js';

/** Maximum number of parameters of a URL. */
const MAX_PARAMETERS = 200;

/** Parameters by name. A repeated parameter has a list of values. */
export type QueryParameters = Readonly<Record<string, string | readonly string[]>>;

/** Marks a query string that cannot be parsed, since the parser runs before an error can be sent. */
const MALFORMED: QueryParameters = Object.freeze({});
const TOO_LONG: QueryParameters = Object.freeze({});

/** A sentence about the fault of a query string that could not be parsed, if there is one. */
export function queryFault(query: unknown): string | undefined {
  if (query === MALFORMED) return errorMessages.malformedUrl;
  return query === TOO_LONG ? errorMessages.tooManyParameters(MAX_PARAMETERS) : undefined;
}

/**
 * Parses a query string as `application/x-www-form-urlencoded`
 * (https://url.spec.whatwg.org/#urlencoded-parsing), but strictly: it must be UTF-8 without too many
 * parameters (see {@link queryFault}). Brackets are part of a name.
 */
export function parseQueryString(text: string): QueryParameters {
  const parameters = Object.create(null) as Record<string, string | string[]>;
  const pairs = text.split('&', MAX_PARAMETERS + 1);
  if (pairs.length > MAX_PARAMETERS) return TOO_LONG;
  for (const pair of pairs) {
    if (pair === '') continue;
    const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const [name, value] = [decode(pair.slice(0, end)), decode(pair.slice(end + 1))];
    if (name === undefined || value === undefined) return MALFORMED;
    const known = parameters[name];
    parameters[name] = known === undefined ? value : [known, value].flat();
  }
  return parameters;
}

/** Decodes a text in which "+" is a space; undefined if it is not valid UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
