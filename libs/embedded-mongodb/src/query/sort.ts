import type { BsonDocument, BsonValue } from '../bson/types.js';

/** One field of a sort. */
export interface SortField {
  path: string;
  descending: boolean;
  /** Set by `{ $meta: 'textScore' }`; the path then means nothing. */
  textScore: boolean;
}

/** A compiled sort. */
export interface Sort {
  readonly fields: readonly SortField[];
  /** The values that decide a document's place, one per field. */
  key(document: BsonDocument, textScore?: number): BsonValue[];
  /** Compares two keys, each field in its direction. */
  compare(a: readonly BsonValue[], b: readonly BsonValue[]): number;
}

/**
 * @throws CommandError BadValue (2) for directions other than 1 and -1.
 * @see https://www.mongodb.com/docs/manual/reference/method/cursor.sort/
 */
export declare function compileSort(spec: BsonDocument): Sort;

/** Sorts documents; documents with equal keys keep their order. */
export declare function sortDocuments(documents: Iterable<BsonDocument>, sort: Sort): BsonDocument[];
