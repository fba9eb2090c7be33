import { readDocument } from '../bson/validate.js';
import type { BsonDocument } from '../bson/types.js';
import { type Frame, ProtocolError, writeFrame } from './frames.js';
import { encodeReply, type Reply } from './reply.js';

const opReply = 1;
const opQuery = 2004;
const opMsg = 2013;

const checksumPresent = 1;
const moreToCome = 2;
/** The flags that a receiver must know; it may ignore the higher ones. */
const requiredFlags = 0xffff;

/** A received command. */
export interface Request {
  /** @throws CommandError if the command is malformed or exceeds a limit */
  readBody(): BsonDocument;
  /** Document sequences of OP_MSG by field, not decoded. */
  sequences: Map<string, Buffer[]>;
  /** Whether the client waits for an answer. */
  wantsReply: boolean;
  /** The bytes of an answer. */
  answer(reply: Reply): Buffer;
}

/**
 * Reads a message.
 *
 * @throws ProtocolError if this server does not know such a message.
 * @see https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
 */
export function readRequest(frame: Frame): Request {
  switch (frame.header.opCode) {
    case opMsg:
      return readMessage(frame);
    case opQuery:
      return readQuery(frame);
    default:
      throw new ProtocolError(`unknown opcode ${frame.header.opCode}`);
  }
}

function readMessage({ header, body }: Frame): Request {
  if (body.length < 4) throw new ProtocolError('a message is cut off');
  const flags = body.readUInt32LE(0);
  if (flags & requiredFlags & ~(checksumPresent | moreToCome))
    throw new ProtocolError('unknown message flags');
  const end = flags & checksumPresent ? body.length - 4 : body.length;
  const sequences = new Map<string, Buffer[]>();
  let command: Buffer | undefined;
  for (let at = 4; at < end;) {
    const kind = body[at++];
    if (kind === 0 && !command) {
      command = documentAt(body, at, end);
      at += command.length;
    } else if (kind === 1) {
      at = readSequence(body, at, end, sequences);
    } else {
      throw new ProtocolError('unknown message section');
    }
  }
  if (!command) throw new ProtocolError('a message has no command');
  const bytes = command;
  return {
    readBody: () => readDocument(bytes),
    sequences,
    wantsReply: (flags & moreToCome) === 0,
    answer: (reply) =>
      writeFrame({ requestId: 0, responseTo: header.requestId, opCode: opMsg }, [
        Buffer.alloc(5),
        encodeReply(reply),
      ]),
  };
}

function readSequence(body: Buffer, start: number, limit: number, sequences: Map<string, Buffer[]>): number {
  if (start + 4 > limit) throw new ProtocolError('a document sequence is cut off');
  const end = start + body.readInt32LE(start);
  const nameEnd = body.indexOf(0, start + 4);
  if (end > limit || nameEnd < 0 || nameEnd >= end) throw new ProtocolError('a document sequence is cut off');
  const documents: Buffer[] = [];
  for (let at = nameEnd + 1; at < end;) {
    const document = documentAt(body, at, end);
    documents.push(document);
    at += document.length;
  }
  sequences.set(body.toString('utf8', start + 4, nameEnd), documents);
  return end;
}

function documentAt(body: Buffer, at: number, limit: number): Buffer {
  const length = at + 5 <= limit ? body.readInt32LE(at) : 0;
  if (length < 5 || at + length > limit) throw new ProtocolError('a document is cut off');
  return body.subarray(at, at + length);
}

/** The legacy OP_QUERY, which drivers only send for their first handshake. */
function readQuery({ header, body }: Frame): Request {
  const nameEnd = body.indexOf(0, 4);
  if (nameEnd < 0 || nameEnd + 9 > body.length) throw new ProtocolError('a query is cut off');
  const namespace = body.toString('utf8', 4, nameEnd);
  const command = readDocument(documentAt(body, nameEnd + 9, body.length));
  const [name = ''] = command.keys();
  if (!namespace.endsWith('.$cmd') || !['hello', 'ismaster', 'isMaster'].includes(name)) {
    throw new ProtocolError('OP_QUERY serves the handshake alone');
  }
  command.set('$db', namespace.slice(0, -'.$cmd'.length));
  return {
    readBody: () => command,
    sequences: new Map(),
    wantsReply: true,
    answer(reply) {
      const prefix = Buffer.alloc(20);
      prefix.writeInt32LE(1, 16);
      return writeFrame({ requestId: 0, responseTo: header.requestId, opCode: opReply }, [
        prefix,
        encodeReply(reply),
      ]);
    },
  };
}
