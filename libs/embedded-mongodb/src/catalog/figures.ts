import { Int32, Long } from 'bson';
import type { BsonDocument, BsonValue } from '../bson/types.js';
import type { Collection } from './collection.js';

/** A whole number in the narrowest type that holds it, as MongoDB gives figures. */
export function figure(value: number): Int32 | Long {
  return value === (value | 0) ? new Int32(value) : Long.fromNumber(value);
}

/**
 * The figures of a collection by MongoDB's names. Sizes are those of its documents in BSON; what indexes and free space take up
 * is not known and left out.
 *
 * @param scale What sizes are divided by.
 */
export function storageFigures({ counters, indexes }: Collection, scale: number): BsonDocument {
  const { documents, size } = counters;
  const scaled = figure(Math.trunc(size / scale));
  return new Map<string, BsonValue>([
    ['size', scaled],
    ['count', figure(documents)],
    ...(documents > 0 ? ([['avgObjSize', figure(Math.trunc(size / documents))]] as const) : []),
    ['numOrphanDocs', new Int32(0)],
    ['storageSize', scaled],
    ['capped', false],
    ['nindexes', new Int32(indexes.filter(({ ready }) => ready).length)],
    ['scaleFactor', figure(scale)],
  ]);
}
