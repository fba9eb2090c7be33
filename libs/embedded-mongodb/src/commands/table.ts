import { Double } from 'bson';
import { describe } from '../bson/describe.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { CommandError, badValue, failure, unknownField, unsupported } from '../errors.js';
import '../operators/index.js';
import type { Dispatch } from '../wire/connection.js';
import { type Reply, replyOf } from '../wire/reply.js';
import { aggregate } from './aggregate.js';
import * as collections from './collections.js';
import { Command, type Engine, type Handler } from './context.js';
import { count, distinct } from './count.js';
import { explain, explainAggregate } from './explain.js';
import { findAndModify } from './find-and-modify.js';
import { find, getMore, killCursors } from './find.js';
import * as handshake from './handshake.js';
import { createIndexes, dropIndexes, listIndexes } from './indexes.js';
import { insert } from './insert.js';
import { del, update } from './update.js';

/** A command: its handler, and its fields besides those that any command may have. */
interface CommandEntry {
  handler: Handler;
  /** Undefined: any, for commands whose options are not read anywhere else. */
  fields?: ReadonlySet<string>;
}

function entry(handler: Handler, fields?: string): CommandEntry {
  return { handler, fields: fields === undefined ? undefined : new Set(fields.split(' ')) };
}

/** The fields of a command without any of its own. */
const NO_FIELDS = '';
const write = 'ordered bypassDocumentValidation let stmtId stmtIds';
const query = 'collation hint';

/** Every command that this server knows. */
const commands = new Map<string, CommandEntry>(
  Object.entries({
    hello: entry(handshake.hello),
    ismaster: entry(handshake.hello),
    isMaster: entry(handshake.hello),
    ping: entry(handshake.ok, NO_FIELDS),
    buildInfo: entry(handshake.buildInfo),
    buildinfo: entry(handshake.buildInfo),
    serverStatus: entry(handshake.serverStatus),
    startSession: entry(handshake.ok, NO_FIELDS),
    refreshSessions: entry(handshake.ok, NO_FIELDS),
    endSessions: entry(handshake.ok, NO_FIELDS),
    killSessions: entry(handshake.ok),
    killAllSessions: entry(handshake.ok),
    insert: entry(insert, `documents ${write}`),
    update: entry(update, `updates ${write}`),
    delete: entry(del, `deletes ${write}`),
    find: entry(
      find,
      `filter sort projection skip limit batchSize singleBatch allowDiskUse noCursorTimeout allowPartialResults oplogReplay returnKey showRecordId tailable awaitData min max let ${query}`,
    ),
    getMore: entry(getMore, 'collection batchSize term lastKnownCommittedOpTime'),
    killCursors: entry(killCursors, 'cursors'),
    findAndModify: entry(
      findAndModify,
      `query sort remove update new fields upsert arrayFilters ${write} ${query}`,
    ),
    findandmodify: entry(
      findAndModify,
      `query sort remove update new fields upsert arrayFilters ${write} ${query}`,
    ),
    count: entry(count, `query limit skip fields ${query}`),
    distinct: entry(distinct, `key query ${query}`),
    aggregate: entry(
      (command, engine) => (command.flag('explain') ? explainAggregate : aggregate)(command, engine),
      `pipeline cursor allowDiskUse explain let bypassDocumentValidation fromMongos needsMerge ${query}`,
    ),
    explain: entry(explain, 'verbosity'),
    create: entry(collections.create),
    drop: entry(collections.drop, NO_FIELDS),
    dropDatabase: entry(collections.dropDatabase, NO_FIELDS),
    renameCollection: entry(collections.renameCollection, 'to dropTarget stayTemp'),
    listCollections: entry(collections.listCollections, 'filter nameOnly authorizedCollections cursor'),
    listDatabases: entry(collections.listDatabases, 'filter nameOnly authorizedDatabases'),
    createIndexes: entry(createIndexes, 'indexes commitQuorum ignoreUnknownIndexOptions v'),
    listIndexes: entry(listIndexes, 'cursor includeBuildUUIDs'),
    dropIndexes: entry(dropIndexes, 'index'),
    deleteIndexes: entry(dropIndexes, 'index'),
    commitTransaction: entry(handshake.ok, 'recoveryToken'),
    abortTransaction: entry(handshake.ok, 'recoveryToken'),
  }),
);

/** MongoDB commands that this server lacks. */
const refused = new Set(
  (
    'authenticate saslStart saslContinue getnonce bulkWrite cloneCollectionAsCapped collMod collStats ' +
    'compact connectionStatus convertToCapped createRole createUser currentOp dataSize dbHash dbStats dropUser enableSharding ' +
    'fsync geoSearch getLog getParameter hostInfo killOp mapReduce profile reIndex replSetGetStatus replSetInitiate setFeatureCompatibilityVersion setParameter shardCollection ' +
    'shutdown top usersInfo validate whatsmyuri'
  ).split(' '),
);

/** Commands about the connection or its sessions, which wait for no transaction. */
const immediate = new Set(
  'hello ismaster isMaster ping buildInfo buildinfo serverStatus startSession refreshSessions endSessions killSessions killAllSessions'.split(
    ' ',
  ),
);

/** The names of all commands, and of the rejected ones. */
export const commandNames = { supported: [...commands.keys()], refused: [...refused] };

/** Carries out commands. Any exception becomes `{ ok: 0, errmsg, code, codeName }`. */
export function dispatcher(engine: Engine): Dispatch {
  return async (request, connectionId) => {
    try {
      const command = new Command(request.readBody(), request.sequences, connectionId);
      const handler = handlerOf(command);
      const carryOut = () => handler(command, engine);
      const reply = await (immediate.has(command.name)
        ? carryOut()
        : engine.transactions.run(command, carryOut));
      if (isJournaled(command)) await engine.store.flushed();
      reply.set('ok', new Double(1));
      return reply;
    } catch (error) {
      return errorReply(error);
    }
  };
}

/** Whether the client waits until the write is on disk: `writeConcern: { j: true }`. */
function isJournaled({ body }: Command): boolean {
  const concern = body.get('writeConcern');
  return isDocument(concern) && concern.get('j') === true;
}

function handlerOf(command: Command): Handler {
  const { name, body } = command;
  const known = commands.get(name);
  if (!known) {
    if (refused.has(name)) throw unsupported(`The command ${name}`);
    throw failure('CommandNotFound', `no such command: '${name}'`);
  }
  const stray = known.fields && [...body.keys()].find((field) => !isKnown(field, command, known.fields));
  if (stray !== undefined) {
    throw unknownField(`${name}.${stray}`);
  }
  command.refuse('let');
  checkWriteConcern(body.get('writeConcern'));
  const concern = body.get('readConcern');
  const level = isDocument(concern) ? concern.get('level') : undefined;
  if (level === 'linearizable' || (level === 'snapshot' && !body.has('autocommit'))) {
    throw failure('NotAReplicaSet', `node needs to be a replica set member to use readConcern: ${level}`);
  }
  if (level !== undefined && !['local', 'majority', 'available', 'snapshot'].includes(level as string))
    throw failure('FailedToParse', `The readConcern level ${describe(level)} is unknown`);
  return known.handler;
}

/** A single server cannot guarantee a concern that requires several. */
function checkWriteConcern(concern: BsonValue | undefined): void {
  const acknowledged = isDocument(concern) ? concern.get('w') : undefined;
  if (isNumber(acknowledged) && toDouble(acknowledged) > 1) {
    throw badValue("cannot use 'w' > 1 when a host is not replicated");
  }
  if (isNumber(acknowledged) && !(toDouble(acknowledged) >= 0))
    throw failure('FailedToParse', `w has to be a non-negative number; found: ${describe(acknowledged)}`);
  if (acknowledged !== undefined && !isNumber(acknowledged) && acknowledged !== 'majority') {
    throw badValue(
      `cannot use non-majority 'w' mode ${describe(acknowledged)} when a host is not a member of a replica set`,
    );
  }
}

function isKnown(field: string, { name }: Command, fields: ReadonlySet<string> | undefined): boolean {
  return (
    field === name ||
    field.startsWith('$') ||
    collections.genericFields.has(field) ||
    field === 'startTransaction' ||
    field === 'autocommit' ||
    fields?.has(field) === true
  );
}

function errorReply(error: unknown): Reply {
  const known = error instanceof CommandError ? error : undefined;
  return replyOf({
    ok: new Double(0),
    errmsg: error instanceof Error ? error.message : String(error),
    code: known?.code ?? 1,
    codeName: known?.codeName ?? 'InternalError',
    ...known?.extra,
  });
}
