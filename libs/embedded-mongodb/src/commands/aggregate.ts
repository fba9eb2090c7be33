import { Int32 } from 'bson';
import { compilePipeline, type Pipeline } from '../pipeline/pipeline.js';
import { decodeDocument } from '../bson/decode.js';
import { encodeDocument } from '../bson/encode.js';
import { describe } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber, toBson, typeName } from '../bson/types.js';
import { failure, failureAt, typeMismatch, unsupported } from '../errors.js';
import { toDouble } from '../bson/numbers.js';
import { Query } from '../planner/query.js';
import type { Reply } from '../wire/reply.js';
import type { Command, Engine } from './context.js';
import { counted } from './count.js';
import { Cursor, cursorReply, defaultBatch } from './cursors.js';
import { hintOf } from './find.js';

/** A pipeline, and the query that answers its first stages. */
export interface Aggregation {
  pipeline: Pipeline;
  /** Answers the pipeline's head. */
  query: Query;
  /**
   * Whether only the number of the query's matches is requested: `{ $group: { _id: 1, n: { $sum: 1 } } }`.
   */
  counts: boolean;
}

/** The aggregation of an `aggregate` command. */
export function aggregation(command: Command, { store, catalog }: Engine): Aggregation {
  command.refuse('bypassDocumentValidation');
  command.refuseCollation();
  const stages = command.array('pipeline');
  if (!stages) throw typeMismatch("'pipeline' option must be specified as an array");
  if (typeof command.body.get('aggregate') !== 'string')
    throw unsupported('An aggregation over no collection');
  const pipeline = compilePipeline(stages);
  const { head } = pipeline;
  const query = new Query(store, catalog.find(command.namespace), {
    filter: head.filter ?? new Map(),
    sort: head.sort,
    skip: head.skip,
    // In a pipeline the limit comes after the skip, as in a query.
    limit: head.limit,
    hint: hintOf(command),
  });
  return { pipeline, query, counts: isCount(stages) && head.sort === undefined };
}

/** @see https://www.mongodb.com/docs/manual/reference/command/aggregate/ */
export async function aggregate(command: Command, engine: Engine): Promise<Reply> {
  const given = command.document('cursor');
  if (!given) {
    throw failure(
      'FailedToParse',
      `The 'cursor' option is required, except for aggregate with the explain argument`,
    );
  }
  const { pipeline, query, counts } = aggregation(command, engine);
  const { namespace } = command;
  const size = batchSizeOf(command, given);
  if (counts) {
    const n = await counted(command, query);
    const found = isNumber(n) && toDouble(n) > 0;
    const result = found ? [encodeDocument(toBson({ _id: 1, n }))] : [];
    return cursorReply('firstBatch', result, 0n, namespace);
  }
  const results = encoded(pipeline.run(decoded(query)));
  const cursor = new Cursor(namespace, results, query.scan);
  return engine.cursors.first(cursor, size, false, command.pauses);
}

function batchSizeOf({ name }: Command, cursor: BsonDocument): number {
  const size = cursor.get('batchSize') ?? null;
  if (size === null) return defaultBatch;
  if (!isNumber(size)) {
    throw typeMismatch(
      `BSON field '${name}.batchSize' is the wrong type '${typeName(size)}', expected types '[long, int, decimal, double]'`,
    );
  }
  if (toDouble(size) < 0)
    throw failureAt(51024, `BSON field 'batchSize' value must be >= 0, actual value '${describe(size)}'`);
  return Math.trunc(toDouble(size));
}

/** Whether a pipeline is the one that drivers send for `countDocuments`. */
function isCount(stages: readonly BsonValue[]): boolean {
  const [last] = stages.slice(-1);
  const group = isDocument(last) ? last.get('$group') : undefined;
  const sum = isDocument(group) && group.size === 2 ? group.get('n') : undefined;
  const before = stages.slice(0, -1).flatMap((stage) => (isDocument(stage) ? [...stage.keys()] : []));
  return (
    isDocument(group) &&
    group.get('_id') instanceof Int32 &&
    Number(group.get('_id')) === 1 &&
    isDocument(sum) &&
    sum.size === 1 &&
    sum.get('$sum') instanceof Int32 &&
    Number(sum.get('$sum')) === 1 &&
    ['$match', '$match,$skip', '$match,$limit', '$match,$skip,$limit'].includes(before.join())
  );
}

function* decoded(query: Query): Generator<BsonDocument | undefined> {
  for (const match of query.matches()) yield match && decodeDocument(match.bytes);
}

function* encoded(documents: Iterable<BsonDocument | undefined>): Generator<Uint8Array | undefined> {
  for (const document of documents) yield document && encodeDocument(document);
}
