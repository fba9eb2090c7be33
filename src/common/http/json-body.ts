import { setImmediate as nextTurn } from 'node:timers/promises';
import { errorMessages, MalformedRequestError, toPointer, ValidationError } from '../errors/index.js';

/** Names of nested fields with a special meaning for libraries: `_bsontype` would choose a database type. */
const HARMFUL_NAMES = ['constructor', '_bsontype'];

/** Maximum nesting of a body. Unit: levels of objects and arrays. */
const MAX_DEPTH = 32;

/** Nesting from which on a text is not parsed at all; items of batches are rejected one by one at {@link MAX_DEPTH}. */
const UNPARSED_DEPTH = 10_000;

/** Maximum number of names in one object of a body: parsing many more takes long. */
const MAX_NAMES = 10_000;

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses JSON without changing any value.
 *
 * @throws MalformedRequestError if the bytes are not JSON in UTF-8, or parsing them would take long
 * @throws ValidationError if an object has a name twice, of which the last value would win
 */
export function parseJson(bytes: Uint8Array): unknown {
  let repeated: string[] | undefined;
  try {
    const text = decoder.decode(bytes);
    repeated = repeatedName(text);
    if (!repeated) return JSON.parse(text);
  } catch (error) {
    throw error instanceof MalformedRequestError ? error : malformed();
  }
  const detail = errorMessages.repeatedName(repeated.at(-1) ?? '');
  throw new ValidationError([{ pointer: toPointer(repeated), detail }]);
}

/** An object or a list that a scan is in. */
interface Open {
  /** The names of an object so far. */
  readonly names?: Set<string>;
  /** The last name, or the position in a list. */
  at: string | number;
}

/** The path of the first name that an object has twice. @throws MalformedRequestError if parsing would take long */
function repeatedName(text: string): string[] | undefined {
  const around: Open[] = [];
  let inner: Open = { at: '' };
  let isName = false;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x7b: // {
      case 0x5b: // [
        around.push(inner);
        isName = text.charCodeAt(i) === 0x7b;
        inner = isName ? { names: new Set(), at: '' } : { at: 0 };
        break;
      case 0x7d: // }
      case 0x5d: // ]
        inner = around.pop() ?? inner;
        break;
      case 0x2c: // ,
        isName = inner.names !== undefined;
        if (typeof inner.at === 'number') inner.at += 1;
        break;
      case 0x22: {
        const end = endOfString(text, i);
        if (isName && inner.names) {
          isName = false;
          inner.at = nameAt(text, i, end);
          if (inner.names.has(inner.at)) return [...around.slice(1), inner].map(({ at }) => String(at));
          inner.names.add(inner.at);
        }
        i = end;
      }
    }
    if (around.length > UNPARSED_DEPTH || (inner.names?.size ?? 0) > MAX_NAMES)
      throw new MalformedRequestError(errorMessages.harmfulJson);
  }
  return undefined;
}

/** The position of the quotation mark that ends a string; that of the end of the text if there is none. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); ; end = text.indexOf('"', end + 1)) {
    if (end < 0) return text.length;
    let before = end - 1;
    while (text.charCodeAt(before) === 0x5c) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
}

function nameAt(text: string, begin: number, end: number): string {
  const raw = text.slice(begin + 1, end);
  return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

/** @throws MalformedRequestError if libraries cannot walk and copy a value recursively, or read its `constructor` safely */
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

let lastSlice = Promise.resolve();

/** Waits until a piece of long work may go on: one in each turn of the event loop, so that short requests are served, too. */
export function nextTimeSlice(): Promise<void> {
  lastSlice = lastSlice.then(() => nextTurn());
  return lastSlice;
}
