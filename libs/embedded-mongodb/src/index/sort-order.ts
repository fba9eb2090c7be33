import { encodeDocument } from '../bson/encode.js';
import { encodeKey } from '../bson/key.js';
import { asBuffer } from '../bson/raw.js';
import type { BsonDocument } from '../bson/types.js';
import { CommandError } from '../errors.js';
import { type KeyField, KeyExtractor } from './keys.js';

/**
 * Makes the key that determines a document's position in a sort, as sortable bytes and without decoding it.
 * For an array, the first element in the sort's order counts.
 */
export function sortKeys(fields: readonly KeyField[]): (bytes: Buffer) => Buffer {
  const extractor = new KeyExtractor(fields);
  return (bytes) => {
    const [first, ...others] = parallelArraysRefused(() => extractor.extract(bytes).keys);
    return others.reduce((least, key) => (key.compare(least) < 0 ? key : least), first as Buffer);
  };
}

/** Sorts decoded documents; those with equal keys keep their order. */
export function sortDocuments(
  documents: readonly BsonDocument[],
  fields: readonly KeyField[],
): BsonDocument[] {
  const keyOf = documentKeys(fields);
  return documents
    .map((document) => ({ document, key: keyOf(document) }))
    .sort((a, b) => a.key.compare(b.key))
    .map(({ document }) => document);
}

function documentKeys(fields: readonly KeyField[]): (document: BsonDocument) => Buffer {
  const [first, ...others] = fields;
  // In a sort by `_id` only, an array, which a pipeline may put there, counts as a whole.
  if (first?.path === '_id' && others.length === 0)
    return (document) => encodeKey(document.get('_id') ?? null, first.descending);
  const keyOf = sortKeys(fields);
  const roots = new Set(fields.map(({ path }) => path.split('.')[0]));
  return (document) => {
    const decisive = new Map([...document].filter(([name]) => roots.has(name)));
    return keyOf(asBuffer(encodeDocument(decisive)));
  };
}

function parallelArraysRefused<T>(extract: () => T): T {
  try {
    return extract();
  } catch (error) {
    if (!(error instanceof CommandError) || error.codeName !== 'CannotIndexParallelArrays') throw error;
    throw new CommandError(2, 'BadValue', 'cannot sort with keys that are parallel arrays');
  }
}
