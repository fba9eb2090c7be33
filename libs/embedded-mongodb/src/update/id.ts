import { BSONRegExp } from 'bson';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../bson/types.js';
import { failure } from '../errors.js';

/**
 * Checks the `_id` of a document that is about to be stored.
 *
 * @throws CommandError InvalidIdField (53) for an array or a regular expression; DollarPrefixedFieldName (52).
 */
export function checkId(id: BsonValue): void {
  if (Array.isArray(id) || id instanceof BSONRegExp) {
    throw failure('InvalidIdField', `The '_id' value cannot be of type ${typeName(id)}`);
  }
  if (isDocument(id)) checkIdNames(id);
}

/** Names inside an `_id` must not start with a dollar sign. */
export function checkIdNames(id: BsonDocument): void {
  for (const name of id.keys()) {
    if (name.startsWith('$') && !['$ref', '$id', '$db'].includes(name))
      throw dollarPrefixed(name, `_id.${name}`);
  }
}

/** Like {@link checkIdNames}, at any depth; MongoDB only looks that far on an insert. */
export function checkInnerNames(value: BsonValue): void {
  if (isDocument(value)) checkIdNames(value);
  const inner = isDocument(value) ? value.values() : Array.isArray(value) ? value : [];
  for (const each of inner) checkInnerNames(each);
}

/** The error for a name that starts with a dollar sign where that is not allowed. */
export function dollarPrefixed(name: string, path: string): Error {
  return failure(
    'DollarPrefixedFieldName',
    `The dollar ($) prefixed field '${name}' in '${path}' is not allowed in the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.`,
  );
}
