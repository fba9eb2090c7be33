import type { BsonDocument, BsonValue } from '../bson/types.js';
import type { Variables } from './scope.js';

/** Documents on their way; `undefined` is a chance to pause, which every stage passes on at once. */
export type DocumentFlow = Iterable<BsonDocument | undefined>;

/** A compiled stage: documents in, documents out. */
export type Stage = (documents: DocumentFlow) => DocumentFlow;

/** What a stage is read with. */
export interface StageContext {
  /** The stage's name, dollar sign included. */
  name: string;
  /** The command's `let`. */
  variables: Variables;
}

/** Reads a stage's argument. */
export type StageParser = (argument: BsonValue, context: StageContext) => Stage;

/** A stage that looks at one document after the other. */
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
