import { Binary, BSONRegExp, Code, Decimal128, Double, Int32, Long, ObjectId, Timestamp } from 'bson';
import { badValue, failure } from '../errors.js';
import { messageLevels } from './validate.js';
import { type BsonArray, type BsonDocument, BsonType, type BsonValue, typeName } from './types.js';

/** Documents are written here before their bytes are copied; grows if one does not fit. */
let scratch = Buffer.allocUnsafe(64 * 1024);
let at = 0;
let depthLimit = messageLevels;

/**
 * Encodes a document; `decodeDocument` returns an equal one.
 *
 * @param limit Maximum nesting. @default that of a message
 * @throws CommandError Overflow (15) on nesting beyond the limit.
 * @see https://bsonspec.org/spec.html
 */
export function encodeDocument(document: BsonDocument, limit = messageLevels): Uint8Array {
  at = 0;
  depthLimit = limit;
  writeDocument(document, 1);
  return Uint8Array.prototype.slice.call(scratch, 0, at) as Uint8Array;
}

function writeDocument(document: BsonDocument, depth: number): void {
  const start = open(depth);
  for (const [name, value] of document) writeElement(name, value, depth);
  close(start);
}

function writeArray(array: BsonArray, depth: number): void {
  const start = open(depth);
  array.forEach((value, index) => writeElement(String(index), value, depth));
  close(start);
}

function open(depth: number): number {
  if (depth > depthLimit)
    throw failure('Overflow', `Document exceeds maximum nested object depth: ${depthLimit}`);
  const start = at;
  room(4);
  at += 4;
  return start;
}

function close(start: number): void {
  writeByte(0);
  scratch.writeInt32LE(at - start, start);
}

function writeElement(name: string, value: BsonValue, depth: number): void {
  writeByte(BsonType[typeName(value)] & 0xff);
  writeCstring(name);
  if (value === null) return;
  if (typeof value === 'string') writeString(value);
  else if (typeof value === 'boolean') writeByte(value ? 1 : 0);
  else if (value instanceof Map) writeDocument(value, depth + 1);
  else if (Array.isArray(value)) writeArray(value, depth + 1);
  else if (value instanceof Int32) writeInt32(value.value);
  else if (value instanceof Double) writeDouble(value.value);
  else if (value instanceof Date) writeBigInt64(BigInt(value.getTime()));
  else if (value instanceof ObjectId) writeBytes(value.id);
  else if (value instanceof Timestamp) writeBits(value.low, value.high);
  else if (value instanceof Long) writeBits(value.low, value.high);
  else if (value instanceof Decimal128) writeBytes(value.bytes);
  else if (value instanceof Binary) writeBinary(value);
  else if (value instanceof BSONRegExp) writeRegex(value);
  else if (value instanceof Code) writeString(value.code.toString());
}

function writeBinary(value: Binary): void {
  const bytes = value.buffer.subarray(0, value.position);
  const legacy = value.sub_type === Binary.SUBTYPE_BYTE_ARRAY;
  writeInt32(legacy ? bytes.length + 4 : bytes.length);
  writeByte(value.sub_type);
  if (legacy) writeInt32(bytes.length);
  writeBytes(bytes);
}

function writeRegex(value: BSONRegExp): void {
  writeCstring(value.pattern);
  writeCstring(value.options);
}

function writeString(text: string): void {
  const start = at;
  writeInt32(0);
  writeText(text);
  scratch.writeInt32LE(at - start - 4, start);
}

function writeCstring(text: string): void {
  if (text.includes('\0'))
    throw badValue(`A field name must not contain a null byte: ${JSON.stringify(text)}`);
  writeText(text);
}

function writeText(text: string): void {
  // A UTF-16 unit takes at most three bytes in UTF-8.
  room(text.length * 3 + 1);
  at += scratch.write(text, at, 'utf8');
  scratch[at++] = 0;
}

function writeByte(value: number): void {
  room(1);
  scratch[at++] = value;
}

function writeInt32(value: number): void {
  room(4);
  at = scratch.writeInt32LE(value, at);
}

function writeBits(low: number, high: number): void {
  writeInt32(low | 0);
  writeInt32(high | 0);
}

function writeDouble(value: number): void {
  room(8);
  at = scratch.writeDoubleLE(value, at);
}

function writeBigInt64(value: bigint): void {
  room(8);
  at = scratch.writeBigInt64LE(value, at);
}

function writeBytes(bytes: Uint8Array): void {
  room(bytes.length);
  scratch.set(bytes, at);
  at += bytes.length;
}

function room(bytes: number): void {
  if (at + bytes <= scratch.length) return;
  const larger = Buffer.allocUnsafe(Math.max(scratch.length * 2, at + bytes));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
}
