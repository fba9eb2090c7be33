import { Long } from 'bson';
import { decodeDocument } from '../bson/decode.js';
import { encodeDocument } from '../bson/encode.js';
import { type BsonValue } from '../bson/types.js';
import { badValue, failure, typeMismatch } from '../errors.js';
import { Query } from '../planner/query.js';
import { compileProjection, type Projection } from '../query/projection.js';
import { type Reply, replyOf } from '../wire/reply.js';
import { type Command, type Engine, namespaceOf } from './context.js';
import { Cursor, defaultBatch } from './cursors.js';

/** Options of `find` that need features this server lacks. */
const refusedOptions = ['returnKey', 'showRecordId', 'min', 'max'];

/** Options of `find` for which null does not mean absent. */
const notNull = ['filter', 'sort', 'projection', 'collation', 'min', 'max', 'singleBatch'];

/** The query of a `find` command. */
export function findQuery(command: Command, { store, catalog }: Engine): Query {
  const empty = notNull.find((field) => command.body.get(field) === null);
  if (empty) throw typeMismatch(`Expected field ${empty} to be of another type than null`);
  command.refuse(...refusedOptions);
  command.refuseCollation();
  if (command.flag('tailable')) throw badValue('tailable cursor requested on non capped collection');
  if (command.flag('awaitData'))
    throw failure('FailedToParse', "Cannot set 'awaitData' without also setting 'tailable'");
  return new Query(store, catalog.find(command.namespace), {
    filter: command.document('filter') ?? new Map(),
    sort: command.document('sort'),
    skip: command.integer('skip'),
    limit: limitOf(command),
    hint: hintOf(command),
  });
}

/** @see https://www.mongodb.com/docs/manual/reference/command/find/ */
export async function find(command: Command, engine: Engine): Promise<Reply> {
  const query = findQuery(command, engine);
  const given = command.document('projection');
  const projection = given && given.size > 0 ? compileProjection(given) : undefined;
  const limit = limitOf(command) || Infinity;
  const cursor = new Cursor(command.namespace, project(query, projection), query.scan, limit);
  const size = command.integer('batchSize') ?? defaultBatch;
  return engine.cursors.first(cursor, size, command.flag('singleBatch'), command.pauses);
}

/** @see https://www.mongodb.com/docs/manual/reference/command/getMore/ */
export async function getMore(command: Command, { cursors }: Engine): Promise<Reply> {
  const id = command.body.get('getMore');
  if (!(id instanceof Long)) {
    throw typeMismatch("BSON field 'getMore.getMore' is the wrong type, expected type 'long'");
  }
  const namespace = namespaceOf(command.database, command.string('collection') ?? '');
  return cursors.more(id.toBigInt(), namespace, command.integer('batchSize') || Infinity, command.pauses);
}

/** @see https://www.mongodb.com/docs/manual/reference/command/killCursors/ */
export function killCursors(command: Command, { cursors }: Engine): Reply {
  const ids = (command.array('cursors') ?? []).filter((id): id is Long => id instanceof Long);
  const killed = ids.filter((id) => cursors.kill(id.toBigInt()));
  return replyOf({
    cursorsKilled: killed,
    cursorsNotFound: ids.filter((id) => !killed.includes(id)),
    cursorsAlive: [],
    cursorsUnknown: [],
  });
}

function limitOf(command: Command): number {
  return command.integer('limit') ?? 0;
}

/** The index hint of a command or a statement; an empty document means none. */
export function hintOf({ body }: Pick<Command, 'body'>): BsonValue | undefined {
  const hint = body.get('hint');
  if (hint === null) throw failure('FailedToParse', 'Hint must be a string or an object');
  return hint === '' || (hint instanceof Map && hint.size === 0) ? undefined : hint;
}

function* project(query: Query, projection: Projection | undefined): Generator<Uint8Array | undefined> {
  for (const match of query.matches()) {
    if (!match || !projection) yield match?.bytes;
    else yield encodeDocument(projection.apply(decodeDocument(match.bytes)));
  }
}
