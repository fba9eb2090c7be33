import { valuesEqual } from '../bson/compare.js';
import { describeField } from '../bson/describe.js';
import { type BsonDocument, isDocument } from '../bson/types.js';
import { failure } from '../errors.js';
import { checkIdNames, dollarPrefixed } from './id.js';
import { identical } from './modifier.js';
import type { Update, Updated } from './update.js';

/** An update by a whole document. */
export function replacementUpdate(update: BsonDocument): Update {
  const reserved = [...update.keys()].find((name) => name.startsWith('$'));
  return {
    replacement: true,
    apply(document, insert = false) {
      if (reserved !== undefined && !insert) throw dollarPrefixed(reserved, reserved);
      return replaceKeepingId(document, update);
    },
  };
}

/**
 * Replaces a document with another one; its `_id` is kept, and comes first.
 *
 * @throws CommandError ImmutableField (66) if the new one has a different `_id`, NotSingleValueField (54) if
 * it is an array.
 */
export function replaceKeepingId(before: BsonDocument, replacement: BsonDocument): Updated {
  const id = before.get('_id');
  const ownId = replacement.get('_id');
  if (id !== undefined && ownId !== undefined && !valuesEqual(ownId, id)) {
    throw failure(
      'ImmutableField',
      `After applying the update, the (immutable) field '_id' was found to have been altered to ${describeField('_id', ownId)}`,
    );
  }
  const newId = ownId ?? id;
  if (Array.isArray(newId)) {
    throw failure(
      'NotSingleValueField',
      `After applying the update to the document, the (immutable) field '_id' was found to be an array or array descendant.`,
    );
  }
  if (isDocument(newId)) checkIdNames(newId);
  const after: BsonDocument = newId === undefined ? replacement : new Map([['_id', newId], ...replacement]);
  // As in MongoDB, a document given without its `_id` counts as a change, even if nothing changes.
  const bothEmpty = replacement.size === 0 && before.size === (id === undefined ? 0 : 1);
  return { document: after, changed: !bothEmpty && !identical(before, replacement) };
}
