import { errorMessages, MalformedRequestError } from '../errors/index.js';

/** Names of nested fields that libraries take for more than data: `_bsontype` would choose a type of the database's. */
const HARMFUL_NAMES = ['constructor', '_bsontype'];

/** Deepest nesting of a body. Unit: levels of objects and arrays. */
const MAX_DEPTH = 32;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The value that bytes of JSON say, as they say it.
 *
 * @throws MalformedRequestError if they are not JSON in UTF-8: a lenient decoder would store other characters than those sent
 */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes)) as unknown;
  } catch {
    throw malformed();
  }
}

/**
 * Lets only values pass that can be walked and copied by libraries that recurse into them and ask for their `constructor`.
 * Without recursion itself, since what it guards against is depth.
 *
 * @throws MalformedRequestError
 */
export function checkHarmless(value: unknown): void {
  const rest: { value: object; depth: number }[] = isObject(value) ? [{ value, depth: 0 }] : [];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { value: current, depth } = next;
    if (Object.hasOwn(current, '__proto__')) throw malformed();
    // At the top an unknown field is refused by its name, whatever that is.
    const isHarmful = depth > 0 && HARMFUL_NAMES.some((name) => Object.hasOwn(current, name));
    if (isHarmful || depth > MAX_DEPTH) throw new MalformedRequestError(errorMessages.harmfulJson);
    const children: readonly unknown[] = Array.isArray(current) ? current : membersOf(current);
    for (const child of children) if (isObject(child)) rest.push({ value: child, depth: depth + 1 });
  }
}

/** As Object.values, in a third of the time for an object of many thousand members. */
function membersOf(value: object): unknown[] {
  return Object.keys(value).map((name) => (value as Record<string, unknown>)[name]);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function malformed(): MalformedRequestError {
  return new MalformedRequestError(errorMessages.malformedJson);
}
