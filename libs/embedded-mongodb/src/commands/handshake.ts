import { Double, Long } from 'bson';
import { maxMessageBytes } from '../wire/frames.js';
import { type Reply, replyOf } from '../wire/reply.js';
import type { Command, Engine } from './context.js';
import { maxBatch, maxDocumentBytes } from './insert.js';

/** The version of MongoDB that this server behaves like, and its wire version. */
const version = [7, 0, 15, 0];
const maxWireVersion = 21;
/** How long an unused session lives. Unit: minutes. */
const sessionMinutes = 30;

const startedAt = Date.now();

/**
 * Introduces the server as a standalone: without `topologyVersion`, so that drivers poll, and without the
 * name of a set.
 *
 * @see https://www.mongodb.com/docs/manual/reference/command/hello/
 */
export function hello({ name, connectionId }: Command): Reply {
  return replyOf({
    helloOk: true,
    [name === 'hello' ? 'isWritablePrimary' : 'ismaster']: true,
    maxBsonObjectSize: maxDocumentBytes,
    maxMessageSizeBytes: maxMessageBytes,
    maxWriteBatchSize: maxBatch,
    localTime: new Date(),
    logicalSessionTimeoutMinutes: sessionMinutes,
    connectionId,
    minWireVersion: 0,
    maxWireVersion,
    readOnly: false,
  });
}

/** Answers a command that needs no work with success. */
export function ok(): Reply {
  return new Map();
}

/** @see https://www.mongodb.com/docs/manual/reference/command/buildInfo/ */
export function buildInfo(): Reply {
  return replyOf({
    version: version.slice(0, 3).join('.'),
    gitVersion: 'embedded',
    modules: [],
    allocator: 'system',
    javascriptEngine: 'none',
    versionArray: version,
    storageEngines: ['lmdb'],
    bits: 64,
    debug: false,
    maxBsonObjectSize: maxDocumentBytes,
  });
}

/**
 * The figures that monitors read. @see https://www.mongodb.com/docs/manual/reference/command/serverStatus/
 */
export function serverStatus(_command: Command, { cursors }: Engine): Reply {
  return replyOf({
    host: 'localhost',
    version: version.slice(0, 3).join('.'),
    process: 'embedded-mongodb',
    pid: Long.fromNumber(process.pid),
    uptime: new Double((Date.now() - startedAt) / 1000),
    localTime: new Date(),
    storageEngine: { name: 'lmdb' },
    metrics: { cursor: { open: { total: Long.fromNumber(cursors.count) } } },
  });
}
