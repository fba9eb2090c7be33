import type { BsonDocument } from '../bson/types.js';

/** A compiled projection. */
export interface Projection {
  /** Whether `{ $meta: 'textScore' }` occurs. */
  readonly needsTextScore: boolean;
  apply(document: BsonDocument, textScore?: number): BsonDocument;
}

/** @see https://www.mongodb.com/docs/manual/reference/method/db.collection.find/#projection */
export function compileProjection(_spec: BsonDocument): Projection {
  throw new Error('soon');
}
