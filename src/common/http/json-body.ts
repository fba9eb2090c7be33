import { errorMessages, MalformedRequestError } from '../errors/index.js';

/** Names of nested fields with a special meaning for libraries: `_bsontype` would choose a database type. */
const HARMFUL_NAMES = ['constructor', '_bsontype'];

/** Maximum nesting of a body. Unit: levels of objects and arrays. */
const MAX_DEPTH = 32;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses JSON without changing any value.
 *
 * @throws MalformedRequestError if the bytes are not JSON in UTF-8: a lenient decoder would store other
 * characters than those sent
 */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes)) as unknown;
  } catch {
    throw malformed();
  }
}

/**
 * Accepts only values that are safe for libraries that walk and copy them recursively and read their
 * `constructor`. Not recursive itself, since it guards against depth.
 *
 * @throws MalformedRequestError
 */
export function checkHarmless(value: unknown): void {
  const rest: { value: object; depth: number }[] = isObject(value) ? [{ value, depth: 0 }] : [];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { value: current, depth } = next;
    if (Object.hasOwn(current, '__proto__')) throw malformed();
    // At the top level, an unknown field is rejected by its name anyway.
    const isHarmful = depth > 0 && HARMFUL_NAMES.some((name) => Object.hasOwn(current, name));
    if (isHarmful || depth > MAX_DEPTH) throw new MalformedRequestError(errorMessages.harmfulJson);
    const children: readonly unknown[] = Array.isArray(current) ? current : membersOf(current);
    for (const child of children) if (isObject(child)) rest.push({ value: child, depth: depth + 1 });
  }
}

/** Like Object.values, in a third of the time for an object with many thousand members. */
function membersOf(value: object): unknown[] {
  return Object.keys(value).map((name) => (value as Record<string, unknown>)[name]);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function malformed(): MalformedRequestError {
  return new MalformedRequestError(errorMessages.malformedJson);
}
