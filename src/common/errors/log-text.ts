import { types } from 'node:util';

/** Characters that move the cursor of a terminal or control it otherwise. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** How many levels of an error's causes, and how many of its parts, are logged. */
const MAX_CAUSES = 3;

/** Base classes of errors whose text may quote a record. By name, since a feature may have another copy of a package. */
const QUOTING = /^(?:Mongo|Mongoose|BSON|Syntax)Error$/;

/** Those among them that are about a connection or a model. */
const NOT_QUOTING =
  /^(?:Mongo(?:Network|NotConnected|(?:ose)?ServerSelection|TopologyClosed|ClientClosed)|PoolClosed|WaitQueueTimeout|MissingSchema|OverwriteModel)Error$/;

/**
 * Server errors that mean "not now": shutdown, a change of primary, and a full disk
 * (https://www.mongodb.com/docs/manual/reference/error-codes/).
 */
export const PASSING_CODES: ReadonlySet<number> = new Set([
  6, 7, 89, 91, 189, 262, 290, 317, 358, 9001, 10_058, 10_107, 11_600, 11_602, 13_435, 13_436, 14_031,
]);

/** Server errors about a login, a time limit, a missing feature, or an index as such: they quote no record either. */
const OF_THE_SERVER = new Set([...PASSING_CODES, 18, 50, 67, 85, 86, 115]);

/** The members of an error that the log may have: Mongoose names fields by `path` or `errors`, the server by `keyPattern`. */
type Told = Partial<Record<'code' | 'codeName' | 'path' | 'errors' | 'keyPattern' | 'cause', unknown>>;

const MARK = Symbol('outage');

/** Marks a line about something that may fail with every request: the log has one line per cause, and then numbers. */
export const OUTAGE = { [MARK]: true };

/** Whether a line of the log is marked with {@link OUTAGE}. */
export function isOfOutage(line: object): boolean {
  return MARK in line;
}

/** A text in one line, with control characters escaped as in JSON. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** The members of an error that are logged: nothing that may be, or quote, a record. */
export function describeError(error: unknown, depth = 0): unknown {
  if (!isError(error)) return typeof error === 'object' && error !== null ? { type: nameOf(error) } : error;
  const { code, codeName, cause, errors } = error as Error & Told;
  const parts = Array.isArray(errors) && depth < MAX_CAUSES ? errors.slice(0, MAX_CAUSES) : [];
  return {
    type: nameOf(error),
    message: reasonOf(error),
    stack: stackOf(error),
    ...(isPlain(code) && { code }),
    ...(isPlain(codeName) && { codeName }),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: describeError(cause, depth + 1) }),
    ...(parts.length > 0 && { errors: parts.map((part) => describeError(part, depth + 1)) }),
  };
}

/** The text of an error in one line, or the class, code and fields of one whose text may quote a record. */
export function reasonOf(error: unknown): string {
  if (!isError(error)) return typeof error === 'object' && error !== null ? nameOf(error) : String(error);
  if (!mayQuote(error)) return escapeControls(error.message);
  const { code, codeName, path, errors, keyPattern } = error as Error & Told;
  const paths = [path, ...Object.keys(Array.isArray(errors) ? {} : (errors ?? {}))].filter(isPlain);
  // What follows may be a name that a client chose.
  const own = paths.map((one) => String(one).split('.', 1)[0]);
  const fields = [...new Set([...own, ...Object.keys(keyPattern ?? {})])];
  const known = [nameOf(error), code, codeName].filter(isPlain).join(' ');
  const at = fields.length > 0 ? ` at ${fields.join(', ')}` : '';
  return escapeControls(`${known}${at} (its text may quote a record)`);
}

function mayQuote(error: Error): boolean {
  if (OF_THE_SERVER.has((error as Told).code as number)) return false;
  const names: string[] = [];
  for (let one: unknown = error; one !== null; one = Object.getPrototypeOf(one))
    names.push(nameOf(one as object));
  return names.some((name) => QUOTING.test(name)) && !names.some((name) => NOT_QUOTING.test(name));
}

/** The stack without the error's text, which precedes it. */
function stackOf(error: Error): string {
  const { message } = error;
  const stack = String(error.stack);
  const end = stack.indexOf(message);
  const frames = (end === -1 ? stack : stack.slice(end + message.length)).split('\n');
  return [`${nameOf(error)}: ${reasonOf(error)}`, ...frames.filter((line) => /^ {4}at /.test(line))]
    .map((line) => (line.startsWith(' ') ? escapeControls(line) : line))
    .join('\n');
}

/** An error of another realm is no instance of this one's class. */
function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}

function nameOf(object: object): string {
  const { constructor } = object as { constructor?: { name?: unknown } };
  return typeof constructor?.name === 'string' ? constructor.name : 'Object';
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}
