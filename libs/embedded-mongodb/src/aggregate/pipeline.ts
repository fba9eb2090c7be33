import type { BsonDocument, BsonValue } from '../bson/types.js';

/** The stages at a pipeline's start that a query can answer, in the order in which a query applies them. */
export interface PipelineHead {
  filter?: BsonDocument;
  sort?: BsonDocument;
  skip?: number;
  limit?: number;
}

/** A compiled pipeline. */
export interface Pipeline {
  readonly head: PipelineHead;
  /** Runs the stages after the head over the documents that the head left. */
  run(documents: Iterable<BsonDocument>): Iterable<BsonDocument>;
}

/**
 * @throws CommandError 40324 for a stage that MongoDB does not know, CommandNotSupported (115) for one that this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation-pipeline/
 */
export function compilePipeline(_stages: readonly BsonValue[]): Pipeline {
  throw new Error('soon');
}
