import type { BsonDocument, BsonValue } from '../bson/types.js';

/** What an update made of a document. */
export interface Updated {
  document: BsonDocument;
  /** Whether anything differs from before; when not, nothing needs to be written. */
  changed: boolean;
}

/** A compiled update. */
export interface Update {
  /** Whether it replaces the whole document; `multi: true` is then refused by the caller. */
  readonly replacement: boolean;
  /** The given document is left as it is. */
  apply(document: BsonDocument): Updated;
}

export interface UpdateOptions {
  /** What `$currentDate` sets. */
  now: Date;
  /** `arrayFilters` of the command, refused when not empty. */
  arrayFilters?: BsonValue;
}

/**
 * @param update Operators (`{ $set: … }`) or a whole document to put in place; a pipeline is refused.
 * @see https://www.mongodb.com/docs/manual/reference/operator/update/
 */
export declare function compileUpdate(update: BsonValue, options: UpdateOptions): Update;

/**
 * The document that an upsert inserts when nothing matched: the equalities of the filter, then the update with
 * `$setOnInsert`, `_id` first.
 *
 * @param createId Makes the `_id` when neither filter nor update gives one.
 */
export declare function upsertDocument(
  filter: BsonDocument,
  update: Update,
  createId: () => BsonValue,
): BsonDocument;
