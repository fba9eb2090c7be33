import { BsonType } from './types.js';

/**
 * One element of a document, by its position in the document's bytes. Storage, indexes and sorts read single
 * fields of many documents, and decoding whole documents would cost far more.
 */
export interface RawElement {
  /** Number of the BSON type, 0 to 255 (MinKey is 255). */
  type: number;
  /** Where the value begins. */
  at: number;
}

/** The value of a missing field in an index or a sort. */
export const rawNull: RawElement = { type: BsonType.null, at: 0 };

/** The value of an empty array in an index or a sort. */
export const rawUndefined: RawElement = { type: BsonType.undefined, at: 0 };

/** A view of the same memory with Buffer's methods. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns where the value that begins at `at` ends. The bytes must have passed `validateDocument`. */
export function valueEnd(bytes: Buffer, type: number, at: number): number {
  switch (type) {
    case BsonType.double:
    case BsonType.date:
    case BsonType.timestamp:
    case BsonType.long:
      return at + 8;
    case BsonType.string:
    case BsonType.javascript:
      return at + 4 + bytes.readInt32LE(at);
    case BsonType.object:
    case BsonType.array:
      return at + bytes.readInt32LE(at);
    case BsonType.binData:
      return at + 5 + bytes.readInt32LE(at);
    case BsonType.objectId:
      return at + 12;
    case BsonType.bool:
      return at + 1;
    case BsonType.regex:
      return bytes.indexOf(0, bytes.indexOf(0, at) + 1) + 1;
    case BsonType.int:
      return at + 4;
    case BsonType.decimal:
      return at + 16;
    default:
      return at;
  }
}

/**
 * The element called `name` of the document that begins at `start`.
 *
 * @param name The field's name in UTF-8, without a terminator.
 */
export function findElement(bytes: Buffer, start: number, name: Uint8Array): RawElement | undefined {
  let at = start + 4;
  for (let type = bytes[at] as number; type !== 0; type = bytes[at] as number) {
    const nameStart = at + 1;
    let i = 0;
    while (i < name.length && bytes[nameStart + i] === name[i]) i++;
    const matches = i === name.length && bytes[nameStart + i] === 0;
    const valueStart = matches ? nameStart + i + 1 : bytes.indexOf(0, nameStart + i) + 1;
    if (matches) return { type, at: valueStart };
    at = valueEnd(bytes, type, valueStart);
  }
  return undefined;
}

/** The elements of the document or array that begins at `start`, in order. */
export function* elements(
  bytes: Buffer,
  start: number,
): Generator<RawElement & { name: number; end: number }> {
  let at = start + 4;
  for (let type = bytes[at] as number; type !== 0; type = bytes[at] as number) {
    const name = at + 1;
    const valueStart = bytes.indexOf(0, name) + 1;
    const end = valueEnd(bytes, type, valueStart);
    yield { type, at: valueStart, name, end };
    at = end;
  }
}
