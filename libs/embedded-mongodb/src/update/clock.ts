import { Timestamp } from 'bson';
import type { BsonDocument } from '../bson/types.js';

let last = { t: 0, i: 0 };

/** A timestamp of this moment, above all that were given out before. */
export function nextTimestamp(): Timestamp {
  const t = Math.max(Math.floor(Date.now() / 1000), last.t);
  last = { t, i: t === last.t ? last.i + 1 : 1 };
  return new Timestamp(last);
}

/**
 * Puts the time in place of the empty timestamps of a document that is about to be stored as a whole; the `_id` and what lies
 * deeper stay.
 *
 * @see https://www.mongodb.com/docs/manual/reference/bson-types/#timestamps
 */
export function withTimestamps(document: BsonDocument): BsonDocument {
  const isEmpty = (name: string): boolean => {
    const value = document.get(name);
    return name !== '_id' && value instanceof Timestamp && value.isZero();
  };
  const empty = [...document.keys()].filter(isEmpty);
  if (empty.length === 0) return document;
  return new Map([...document, ...empty.map((name): [string, Timestamp] => [name, nextTimestamp()])]);
}
