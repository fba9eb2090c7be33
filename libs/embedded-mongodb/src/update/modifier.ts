import { compareValues } from '../bson/compare.js';
import { describeField } from '../bson/describe.js';
import { encodeDocument } from '../bson/encode.js';
import type { BsonDocument, BsonValue } from '../bson/types.js';

/** Results of a modifier other than a new value: the field is kept, or removed. */
export const keep = Symbol('keep');
export const remove = Symbol('remove');
/** The result of a modifier for a field. */
export type FieldChange = BsonValue | typeof keep | typeof remove;

/** Additional input of a modifier. */
export interface ModifierContext {
  /** The document before the update, for error messages. */
  document: BsonDocument;
  /** The dotted path of the field. */
  path: string;
  /** Whether the document is being inserted by an upsert. */
  insert: boolean;
  now: Date;
}

/** One operator's work on one field. */
export interface Modifier {
  /**
   * If the path does not lead to the field: create it; do nothing, unless a scalar is in the way, which is an
   * error; or do nothing in any case.
   */
  readonly missing: 'create' | 'check' | 'ignore';
  /** The field's new value; `current` is `undefined` if the field is missing. */
  change(current: BsonValue | undefined, context: ModifierContext): FieldChange;
}

/**
 * Whether two values are the same, including their types, so that replacing one with the other changes
 * nothing.
 */
export function identical(a: BsonValue | undefined, b: BsonValue): boolean {
  if (a === undefined || compareValues(a, b) !== 0) return false;
  return Buffer.compare(encodeDocument(new Map([['', a]])), encodeDocument(new Map([['', b]]))) === 0;
}

/** `{_id: 1}`, as MongoDB names a document in its error messages. */
export function describeId(document: BsonDocument): string {
  const id = document.get('_id');
  return id === undefined ? '{no id}' : `{${describeField('_id', id)}}`;
}

/** The last name of a path. */
export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}
