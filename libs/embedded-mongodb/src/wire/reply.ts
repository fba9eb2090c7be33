import { encodeDocument } from '../bson/encode.js';
import { BsonType, type BsonDocument, type BsonValue, toBson } from '../bson/types.js';

/** Stored documents inside a reply, as an array: they are copied, never decoded. */
export class RawArray {
  constructor(readonly documents: readonly Uint8Array[]) {}
}

/** One stored document inside a reply. */
export class RawDocument {
  constructor(readonly bytes: Uint8Array) {}
}

/** A field of a reply. */
export type ReplyValue = BsonValue | RawArray | RawDocument | Reply;

/** The reply to a command. */
export type Reply = Map<string, ReplyValue>;

/** A reply with plain values: whole numbers become Int32, and undefined fields are left out. */
export function replyOf(fields: Record<string, unknown>): Reply {
  return toBson(fields);
}

/** The bytes of a reply. */
export function encodeReply(reply: Reply): Buffer {
  return document(Array.from(reply, ([name, value]) => element(name, value)));
}

function element(name: string, value: ReplyValue): Uint8Array {
  if (value instanceof RawArray) {
    const items = value.documents.map((bytes, i) => tagged(BsonType.object, String(i), bytes));
    return tagged(BsonType.array, name, document(items));
  }
  if (value instanceof RawDocument) return tagged(BsonType.object, name, value.bytes);
  if (value instanceof Map && holdsRaw(value)) return tagged(BsonType.object, name, encodeReply(value));
  // A document with one field is that field between the document's length and its end.
  return encodeDocument(new Map([[name, value as BsonValue]]) satisfies BsonDocument).subarray(4, -1);
}

function holdsRaw(reply: Reply): boolean {
  return [...reply.values()].some((value) => value instanceof RawArray || value instanceof RawDocument);
}

function tagged(type: number, name: string, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([type]), Buffer.from(`${name}\0`), bytes]);
}

function document(elements: readonly Uint8Array[]): Buffer {
  const bytes = elements.reduce((sum, part) => sum + part.length, 5);
  const length = Buffer.alloc(4);
  length.writeInt32LE(bytes);
  return Buffer.concat([length, ...elements, Buffer.from([0])], bytes);
}
