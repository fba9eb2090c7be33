import { Double, Int32, Long } from 'bson';
import type { BsonValue } from '../bson/types.js';
import { maxMessageBytes } from '../wire/frames.js';
import type { Reply, ReplyValue } from '../wire/reply.js';
import type { Command, Engine } from './context.js';
import { maxBatch, maxDocumentBytes } from './insert.js';

/** The version of MongoDB whose answers these are, and its wire version. */
const version = [7, 0, 15, 0];
const maxWireVersion = 21;
/** How long a session lives without being used. Unit: minutes. */
const sessionMinutes = 30;

const startedAt = Date.now();

/**
 * Introduces the server as a standalone: without `topologyVersion`, so that drivers poll, and without a set's name.
 *
 * @see https://www.mongodb.com/docs/manual/reference/command/hello/
 */
export function hello({ name, connectionId }: Command): Reply {
  return new Map<string, ReplyValue>([
    ['helloOk', true],
    [name === 'hello' ? 'isWritablePrimary' : 'ismaster', true],
    ['maxBsonObjectSize', new Int32(maxDocumentBytes)],
    ['maxMessageSizeBytes', new Int32(maxMessageBytes)],
    ['maxWriteBatchSize', new Int32(maxBatch)],
    ['localTime', new Date()],
    ['logicalSessionTimeoutMinutes', new Int32(sessionMinutes)],
    ['connectionId', new Int32(connectionId)],
    ['minWireVersion', new Int32(0)],
    ['maxWireVersion', new Int32(maxWireVersion)],
    ['readOnly', false],
  ]);
}

/** Nothing to do, and that done. */
export function ok(): Reply {
  return new Map();
}

/** @see https://www.mongodb.com/docs/manual/reference/command/buildInfo/ */
export function buildInfo(): Reply {
  return new Map<string, BsonValue>([
    ['version', version.slice(0, 3).join('.')],
    ['gitVersion', 'embedded'],
    ['modules', []],
    ['allocator', 'system'],
    ['javascriptEngine', 'none'],
    ['versionArray', version.map((part) => new Int32(part))],
    ['storageEngines', ['lmdb']],
    ['bits', new Int32(64)],
    ['debug', false],
    ['maxBsonObjectSize', new Int32(maxDocumentBytes)],
  ]) as Reply;
}

/** What a monitor looks at. @see https://www.mongodb.com/docs/manual/reference/command/serverStatus/ */
export function serverStatus(_command: Command, { cursors }: Engine): Reply {
  const open = new Map<string, BsonValue>([['total', Long.fromNumber(cursors.count)]]);
  const cursor = new Map<string, BsonValue>([['open', open]]);
  return new Map<string, BsonValue>([
    ['host', 'localhost'],
    ['version', version.slice(0, 3).join('.')],
    ['process', 'embedded-mongodb'],
    ['pid', Long.fromNumber(process.pid)],
    ['uptime', new Double((Date.now() - startedAt) / 1000)],
    ['localTime', new Date()],
    ['storageEngine', new Map<string, BsonValue>([['name', 'lmdb']])],
    ['metrics', new Map<string, BsonValue>([['cursor', cursor]])],
  ]) as Reply;
}
