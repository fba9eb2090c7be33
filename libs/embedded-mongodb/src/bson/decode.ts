import {
  Binary,
  BSONRegExp,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson';
import { asBuffer, elements, findElement, type RawElement, valueEnd } from './raw.js';
import { type BsonArray, type BsonDocument, BsonType, BsonUndefined, type BsonValue } from './types.js';

/**
 * Decodes a document. Bytes from outside must have passed `validateDocument`: nothing is checked here.
 *
 * @see https://bsonspec.org/spec.html
 */
export function decodeDocument(bytes: Uint8Array): BsonDocument {
  return documentAt(asBuffer(bytes), 0);
}

/**
 * The value of one top-level field, without decoding the fields around it.
 *
 * @returns `undefined` when the document has no such field.
 */
export function decodeField(bytes: Uint8Array, name: string): BsonValue | undefined {
  const buffer = asBuffer(bytes);
  const element = findElement(buffer, 0, Buffer.from(name));
  return element && decodeValue(buffer, element);
}

/** The value of one element of a document. */
export function decodeValue(bytes: Buffer, { type, at }: RawElement): BsonValue {
  switch (type) {
    case BsonType.double:
      return new Double(bytes.readDoubleLE(at));
    case BsonType.string:
      return stringAt(bytes, at);
    case BsonType.object:
      return documentAt(bytes, at);
    case BsonType.array:
      return arrayAt(bytes, at);
    case BsonType.binData:
      return binaryAt(bytes, at);
    case BsonType.undefined:
      return BsonUndefined.value;
    case BsonType.objectId:
      return new ObjectId(copy(bytes, at, 12));
    case BsonType.bool:
      return bytes[at] === 1;
    case BsonType.date:
      return new Date(Number(bytes.readBigInt64LE(at)));
    case BsonType.null:
      return null;
    case BsonType.regex: {
      const end = bytes.indexOf(0, at);
      return new BSONRegExp(textAt(bytes, at, end), textAt(bytes, end + 1, bytes.indexOf(0, end + 1)));
    }
    case BsonType.javascript:
      return new Code(stringAt(bytes, at));
    case BsonType.int:
      return new Int32(bytes.readInt32LE(at));
    case BsonType.timestamp:
      return new Timestamp(longAt(bytes, at));
    case BsonType.long:
      return longAt(bytes, at);
    case BsonType.decimal:
      return new Decimal128(copy(bytes, at, 16));
    case BsonType.maxKey:
      return new MaxKey();
    default:
      return new MinKey();
  }
}

function documentAt(bytes: Buffer, start: number): BsonDocument {
  const result: BsonDocument = new Map();
  for (const element of elements(bytes, start))
    result.set(textAt(bytes, element.name, element.at - 1), decodeValue(bytes, element));
  return result;
}

function arrayAt(bytes: Buffer, start: number): BsonArray {
  return Array.from(elements(bytes, start), (element) => decodeValue(bytes, element));
}

function binaryAt(bytes: Buffer, at: number): Binary {
  const subtype = bytes[at + 4] as number;
  // The old subtype 2 repeats its length.
  const start = subtype === Binary.SUBTYPE_BYTE_ARRAY ? at + 9 : at + 5;
  return new Binary(copy(bytes, start, valueEnd(bytes, BsonType.binData, at) - start), subtype);
}

function longAt(bytes: Buffer, at: number): Long {
  return new Long(bytes.readInt32LE(at), bytes.readInt32LE(at + 4));
}

function stringAt(bytes: Buffer, at: number): string {
  return textAt(bytes, at + 4, at + 3 + bytes.readInt32LE(at));
}

function textAt(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('utf8', start, end);
}

/** A copy with its own memory, since the storage may reuse the memory of the bytes that it returned. */
function copy(bytes: Buffer, at: number, length: number): Buffer {
  return Buffer.from(bytes.subarray(at, at + length));
}
