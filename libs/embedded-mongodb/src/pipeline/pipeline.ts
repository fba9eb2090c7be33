import { type BsonValue, isDocument } from '../bson/types.js';
import { failureAt, typeMismatch } from '../errors.js';
import { type DocumentFlow, type PipelineHead, type Stage, stages } from './stage.js';

export type { PipelineHead } from './stage.js';

/** A compiled pipeline. */
export interface Pipeline {
  readonly head: PipelineHead;
  /** Runs the stages after the head on the documents from the head. */
  run(documents: DocumentFlow): DocumentFlow;
}

/**
 * @throws CommandError CommandNotSupported (115) for a stage that this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation-pipeline/
 */
export function compilePipeline(given: readonly BsonValue[]): Pipeline {
  const named = given.map(readStage);
  const head: PipelineHead = {};
  let taken = 0;
  while (taken < named.length && intoHead(head, named[taken] as NamedStage)) taken++;
  const rest = named.slice(taken).map(compileStage);
  return { head, run: (documents) => chain(rest, documents) };
}

/**
 * The stages without a head, for documents that are already there.
 *
 * @param check Throws for the name of a stage that is not allowed here.
 */
export function compilePipelineStages(given: readonly BsonValue[], check: (name: string) => void): Stage {
  const compiled = given.map((each) => {
    const named = readStage(each);
    const stage = compileStage(named);
    check(named.name);
    return stage;
  });
  return (documents) => chain(compiled, documents);
}

/** A stage whose argument has not been read. */
export interface NamedStage {
  name: string;
  argument: BsonValue;
}

/** @throws CommandError 40323 if it is not a stage */
export function readStage(stage: BsonValue): NamedStage {
  if (!isDocument(stage)) {
    throw typeMismatch(`Each element of the 'pipeline' array must be an object`);
  }
  const [entry] = stage;
  if (!entry || stage.size !== 1) {
    throw failureAt(40323, 'A pipeline stage specification object must contain exactly one field.');
  }
  const [name, argument] = entry;
  return { name, argument };
}

function intoHead(head: PipelineHead, { name, argument }: NamedStage): boolean {
  return stages.find(name).intoHead?.(head, argument) === true;
}

/** @throws CommandError CommandNotSupported (115) for a stage that this server lacks */
export function compileStage({ name, argument }: NamedStage): Stage {
  return stages.find(name).parse(argument);
}

/** Runs documents through stages, one after the other. */
export function chain(compiled: readonly Stage[], documents: DocumentFlow): DocumentFlow {
  return compiled.reduce<DocumentFlow>((result, stage) => stage(result), documents);
}
