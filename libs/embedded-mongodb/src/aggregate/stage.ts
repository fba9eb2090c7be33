import type { BsonDocument, BsonValue } from '../bson/types.js';

/** A compiled stage: documents in, documents out. */
export type Stage = (documents: Iterable<BsonDocument>) => Iterable<BsonDocument>;

/** Reads a stage's argument. */
export type StageParser = (argument: BsonValue, name: string) => Stage;
