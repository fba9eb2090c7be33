import type { BsonDocument, BsonValue } from '../bson/types.js';
import { Registry } from '../registry.js';

/** A stream of documents; `undefined` is an opportunity to pause, which every stage passes on at once. */
export type DocumentFlow = Iterable<BsonDocument | undefined>;

/** A compiled stage: documents in, documents out. */
export type Stage = (documents: DocumentFlow) => DocumentFlow;

/** The stages at a pipeline's start that a query can answer, in the order in which a query applies them. */
export interface PipelineHead {
  filter?: BsonDocument;
  sort?: BsonDocument;
  skip?: number;
  limit?: number;
}

/** A stage of pipelines. */
export interface StageOperator {
  /** Reads the stage's argument. */
  parse(argument: BsonValue): Stage;
  /** Whether it is allowed in an update, because it makes one document from one. @default false */
  updates?: boolean;
  /** Moves the stage into the head if a query can apply it in its fixed order: match, sort, skip, limit. */
  intoHead?(head: PipelineHead, argument: BsonValue): boolean;
}

/** Stages of pipelines. */
export const stages = new Registry<StageOperator>('The stage');

/** A stage that handles documents one by one. */
export function eachDocument(handle: (document: BsonDocument) => Iterable<BsonDocument>): Stage {
  return function* each(documents) {
    for (const document of documents) {
      if (document) yield* handle(document);
      else yield undefined;
    }
  };
}

/** A stage that needs all of its documents at once. */
export function allDocuments(handle: (documents: BsonDocument[]) => DocumentFlow): Stage {
  return function* all(documents) {
    const gathered: BsonDocument[] = [];
    for (const document of documents) {
      if (document) gathered.push(document);
      else yield undefined;
    }
    yield* handle(gathered);
  };
}
