import { describeDocument } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../bson/types.js';
import { failure, failureAt, unsupported } from '../errors.js';
import { compileFilter } from '../query/filter.js';
import { parseSort } from '../query/sort.js';
import { groupStage, sortByCountStage } from './group.js';
import { replaceRootStage, replaceWithStage } from './replace.js';
import { noNames, type Variables } from './scope.js';
import { type Source, sourceStages } from './sources.js';
import { allDocuments, type DocumentFlow, type Stage, type StageContext, type StageParser } from './stage.js';
import {
  addFieldsStage,
  countStage,
  limitCount,
  limitStage,
  matchStage,
  projectStage,
  sampleStage,
  skipCount,
  skipStage,
  sortSpec,
  sortStage,
  unsetStage,
} from './stages.js';
import { unwindStage } from './unwind.js';

/** The stages at a pipeline's start that a query can answer, in the order in which a query applies them. */
export interface PipelineHead {
  filter?: BsonDocument;
  sort?: BsonDocument;
  skip?: number;
  limit?: number;
}

/** A compiled pipeline. */
export interface Pipeline {
  /** Set where the pipeline begins with documents of its own; the head is then empty. */
  readonly source?: Source;
  readonly head: PipelineHead;
  /** Runs the stages after the head over the documents that the head left. */
  run(documents: DocumentFlow): DocumentFlow;
}

const parsers: Record<string, StageParser> = {
  $match: matchStage,
  $sort: sortStage,
  $skip: skipStage,
  $limit: limitStage,
  $project: projectStage,
  $addFields: addFieldsStage,
  $set: addFieldsStage,
  $unset: unsetStage,
  $group: groupStage,
  $count: countStage,
  $sample: sampleStage,
  $sortByCount: sortByCountStage,
  $unwind: unwindStage,
  $facet: facetStage,
  $replaceRoot: replaceRootStage,
  $replaceWith: replaceWithStage,
};

/** Stages of real MongoDB that this server lacks. */
const refused = new Set(
  (
    '$bucket $bucketAuto $changeStream $changeStreamSplitLargeEvent $currentOp $densify $documents $fill ' +
    '$geoNear $graphLookup $listLocalSessions $listSampledQueries $listSearchIndexes $listSessions $lookup ' +
    '$merge $out $planCacheStats $redact $search $searchMeta $setWindowFields ' +
    '$shardedDataDistribution $unionWith $vectorSearch'
  ).split(' '),
);

/**
 * @param variables The command's `let`.
 * @throws CommandError 40324 for a stage that MongoDB does not know, CommandNotSupported (115) for one that this server lacks.
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation-pipeline/
 */
export function compilePipeline(stages: readonly BsonValue[], variables: Variables = noNames): Pipeline {
  const parsed = stages.map(readStage);
  const [first, ...others] = parsed;
  const parseSource = first && sourceStages[first.name];
  if (first && parseSource) {
    const source = parseSource(first.argument);
    const rest = others.map((each) => compileStage(each, variables));
    return { source, head: {}, run: (documents) => chain(rest, documents) };
  }
  const head: PipelineHead = {};
  let taken = 0;
  while (taken < parsed.length && takeIntoHead(head, parsed[taken] as NamedStage, variables)) taken++;
  const rest = parsed.slice(taken).map((each) => compileStage(each, variables));
  return { head, run: (documents) => chain(rest, documents) };
}

/**
 * The stages without a head, for documents that are at hand.
 *
 * @param check Throws for the name of a stage that may not be used here.
 */
export function compilePipelineStages(
  stages: readonly BsonValue[],
  variables: Variables,
  check: (name: string) => void,
): Stage {
  const compiled = stages.map((each) => {
    const named = readStage(each);
    const stage = compileStage(named, variables);
    check(named.name);
    return stage;
  });
  return (documents) => chain(compiled, documents);
}

interface NamedStage {
  name: string;
  argument: BsonValue;
}

function readStage(stage: BsonValue): NamedStage {
  if (!isDocument(stage)) {
    throw failure('TypeMismatch', `Each element of the 'pipeline' array must be an object`);
  }
  const [entry] = stage;
  if (!entry || stage.size !== 1) {
    throw failureAt(40323, 'A pipeline stage specification object must contain exactly one field.');
  }
  const [name, argument] = entry;
  if (!Object.hasOwn(parsers, name) && !Object.hasOwn(sourceStages, name) && !refused.has(name)) {
    throw failureAt(40324, `Unrecognized pipeline stage name: '${name}'`);
  }
  return { name, argument };
}

/** Moves a stage into the head where a query would apply it in its turn: match, sort, skip, limit. */
function takeIntoHead(head: PipelineHead, { name, argument }: NamedStage, variables: Variables): boolean {
  const beforeSkip = head.skip === undefined && head.limit === undefined;
  switch (name) {
    case '$match':
      // A match behind a sort gives the same before it, and leaves less to sort.
      if (!isDocument(argument) || !beforeSkip) return false;
      compileFilter(argument, variables);
      head.filter = head.filter ? new Map([['$and', [head.filter, argument]]]) : argument;
      return true;
    case '$sort':
      // Of two sorts in a row the last one decides.
      if (!beforeSkip) return false;
      head.sort = sortSpec(argument);
      parseSort(head.sort);
      return true;
    case '$skip':
      if (!beforeSkip) return false;
      head.skip = skipCount(argument);
      return true;
    case '$limit':
      if (head.limit !== undefined) return false;
      head.limit = limitCount(argument);
      return true;
    default:
      return false;
  }
}

function compileStage({ name, argument }: NamedStage, variables: Variables): Stage {
  const parse = parsers[name];
  if (Object.hasOwn(sourceStages, name))
    throw failureAt(40602, `${name} is only valid as the first stage in a pipeline`);
  if (!parse) throw unsupported(`The stage ${name}`);
  return parse(argument, { name, variables });
}

function chain(stages: readonly Stage[], documents: DocumentFlow): DocumentFlow {
  return stages.reduce<DocumentFlow>((result, stage) => stage(result), documents);
}

/** `$facet`: several pipelines over the same documents, each result in a field of its own. */
function facetStage(argument: BsonValue, { variables }: StageContext): Stage {
  if (!isDocument(argument) || argument.size === 0) {
    const found = isDocument(argument) ? describeDocument(argument) : typeName(argument);
    throw failureAt(
      40169,
      `the $facet specification must be a non-empty object, but found: $facet: ${found}`,
    );
  }
  const facets = Array.from(argument, ([name, stages]) => ({
    name,
    stages: facetStages(name, stages, variables),
  }));
  return allDocuments(function* facet(documents) {
    const result: BsonDocument = new Map();
    for (const { name, stages } of facets) {
      result.set(
        name,
        [...chain(stages, documents)].filter((each) => each !== undefined),
      );
    }
    yield result;
  });
}

function facetStages(name: string, stages: BsonValue, variables: Variables): Stage[] {
  if (name.includes('.')) {
    throw failureAt(
      16412,
      `FieldPath field names may not contain '.'. Consider using $getField or $setField.`,
    );
  }
  if (name.startsWith('$')) {
    throw failureAt(
      16410,
      `FieldPath field names may not start with '$'. Consider using $getField or $setField.`,
    );
  }
  if (!Array.isArray(stages)) {
    throw failureAt(40170, `arguments to $facet must be arrays, ${name} is type ${typeName(stages)}`);
  }
  return stages.map((stage, index) => {
    if (!isDocument(stage) || stage.size === 0) {
      throw failureAt(
        40171,
        `elements of arrays in $facet spec must be non-empty objects, ${name} argument contained an element of type ${typeName(stage)}: ${index}`,
      );
    }
    const named = readStage(stage);
    if (['$facet', '$out', '$merge', ...Object.keys(sourceStages)].includes(named.name)) {
      throw failureAt(40600, `${named.name} is not allowed to be used within a $facet stage`);
    }
    return compileStage(named, variables);
  });
}
