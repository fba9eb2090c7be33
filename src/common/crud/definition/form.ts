import { Types } from 'mongoose';
import { plain } from './plain.js';

/** How the values of a field are shown. */
export interface Form {
  /** Returns a value in the form that JSON should carry. */
  readonly present: (value: unknown) => unknown;
  /** The JSON of the result of `present`, without building it; undefined for values that JSON leaves out. */
  readonly write: (value: unknown) => string | undefined;
}

/** The form of a value whose type needs nothing special. */
export const PLAIN: Form = { present: plain, write: writePlain };

/** The form that a function gives a value. */
export function formOf(present: Form['present']): Form {
  return { present, write: (value) => JSON.stringify(present(value)) };
}

/** Applies a form to a value, or to each entry of a list at any depth. */
export function eachEntry({ present, write }: Form): Form {
  const presentEach: Form['present'] = (value) =>
    Array.isArray(value) ? value.map(presentEach) : present(value);
  const writeEach: Form['write'] = (value) =>
    Array.isArray(value)
      ? `[${Array.from(value, (entry) => writeEach(entry) ?? 'null').join(',')}]`
      : write(value);
  return { present: presentEach, write: writeEach };
}

/** A field of an object, its name in JSON, and its form. */
export interface Member {
  readonly name: string;
  readonly key: string;
  readonly form: Form;
}

/** The members of an object in the order of JavaScript properties, and so of JSON: numbers come first. */
export function membersOf(forms: ReadonlyMap<string, Form>): Member[] {
  const names = Object.keys(Object.fromEntries(forms));
  return names.map((name) => ({ name, key: `${JSON.stringify(name)}:`, form: forms.get(name) ?? PLAIN }));
}

/** Shows the members of an object, leaving out absent and null values. */
export function presentMembers(
  source: Readonly<Record<string, unknown>>,
  members: readonly Member[],
): Record<string, unknown> {
  const presented: Record<string, unknown> = {};
  for (const { name, form } of members) {
    const value = source[name];
    if (value === undefined || value === null) continue;
    presented[name] = typeof value === 'string' ? value : form.present(value);
  }
  return presented;
}

/** Writes the JSON of the result of {@link presentMembers}. */
export function writeMembers(source: Readonly<Record<string, unknown>>, members: readonly Member[]): string {
  let text = '{';
  for (const { name, key, form } of members) {
    const value = source[name];
    if (value === undefined || value === null) continue;
    const written = typeof value === 'string' ? quoted(value) : form.write(value);
    if (written !== undefined) text += text.length === 1 ? key + written : `,${key}${written}`;
  }
  return `${text}}`;
}

/** Characters that may need escaping in JSON. Only unpaired surrogates do, which JSON.stringify decides. */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

function quoted(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function writePlain(value: unknown): string | undefined {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (value instanceof Types.ObjectId) return `"${value.toHexString()}"`;
  if (value instanceof Date && !Number.isNaN(value.getTime())) return `"${value.toISOString()}"`;
  return JSON.stringify(plain(value));
}
