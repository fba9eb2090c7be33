import { compareValues } from '../bson/compare.js';
import { describeField } from '../bson/describe.js';
import { encodeDocument } from '../bson/encode.js';
import type { BsonDocument, BsonValue } from '../bson/types.js';

/** Answers of a modifier that are not a new value: the field stays, or goes. */
export const keep = Symbol('keep');
export const remove = Symbol('remove');
/** What a modifier makes of a field. */
export type FieldChange = BsonValue | typeof keep | typeof remove;

/** What a modifier may look at besides the value. */
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
   * What happens where the path does not lead to the field: it is created; nothing, unless a scalar stands in the way; or
   * nothing in any case.
   */
  readonly missing: 'create' | 'check' | 'ignore';
  /** The field's new value; `current` is `undefined` when the field is missing. */
  change(current: BsonValue | undefined, context: ModifierContext): FieldChange;
}

/** Whether two values are the same down to their types, so that writing one over the other changes nothing. */
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
