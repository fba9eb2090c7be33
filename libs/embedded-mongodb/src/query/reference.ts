import type { BsonDocument } from '../bson/types.js';

/** `{ $ref, $id }` looks like an operator but is a value. */
export function isReference(document: BsonDocument): boolean {
  return document.has('$ref') && document.has('$id');
}

/** Whether a document has a field of a reference, so that its other names are also fields. */
export function namesReference(document: BsonDocument): boolean {
  return ['$ref', '$id', '$db'].some((name) => document.has(name));
}
