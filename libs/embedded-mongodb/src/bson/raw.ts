import { isUtf8 } from 'node:buffer';
import { BsonType } from './types.js';
import { failure, unsupported } from '../errors.js';
import {
  checkedOptions,
  dateBeyondRange,
  maxDate,
  maxStoredDepth,
  repeatedName,
  unknownType,
} from './decode.js';

/**
 * One element of a document, by its place in the document's bytes: storage, indexes and sorts read single fields of many
 * documents, and decoding them whole would cost far more than what is asked for.
 */
export interface RawElement {
  /** Number of the BSON type, 0 to 255 (MinKey is 255). */
  type: number;
  /** Where the value begins. */
  at: number;
}

/** What a missing field counts as in an index or a sort. */
export const rawNull: RawElement = { type: BsonType.null, at: 0 };

/** What an empty array counts as in an index or a sort. */
export const rawUndefined: RawElement = { type: BsonType.undefined, at: 0 };

/** A view of the same memory with Buffer's methods. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Where the value that begins at `at` ends. The bytes must have passed {@link validateDocument}. */
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

/**
 * Checks that bytes from outside are a well-formed document, so that everything behind it may read without checks.
 *
 * @throws CommandError InvalidBSON (22) on malformed bytes, Overflow (15) on nesting beyond {@link maxStoredDepth},
 *   CommandNotSupported (115) for a field that is named twice and for a date that JavaScript cannot hold.
 * @see https://bsonspec.org/spec.html
 */
export function validateDocument(bytes: Buffer): void {
  if (bytes.length < 5 || bytes.readInt32LE(0) !== bytes.length)
    throw invalid('the length of a document is wrong');
  validateElements(bytes, BsonType.object, 0, bytes.length, 1);
}

function validateElements(bytes: Buffer, type: number, start: number, limit: number, depth: number): number {
  if (depth > maxStoredDepth)
    throw failure(
      'Overflow',
      `cannot insert document because it exceeds ${maxStoredDepth} levels of nesting`,
    );
  if (start + 5 > limit) throw invalid('a document is cut off');
  const length = bytes.readInt32LE(start);
  const end = start + length;
  if (length < 5 || end > limit) throw invalid('the length of a document is wrong');
  const names = new Set<string>();
  let at = start + 4;
  for (let fields = 0; ; fields++) {
    if (at >= end) throw invalid('a document has no end');
    const elementType = bytes[at++] as number;
    if (elementType === 0) break;
    const valueStart = cstringEnd(bytes, at, end);
    const name = bytes.toString('latin1', at, valueStart - 1);
    if (type === BsonType.array) checkPosition(name, fields);
    else if (names.add(name).size === fields) throw repeatedName(bytes.toString('utf8', at, valueStart - 1));
    at = validateValue(bytes, elementType, valueStart, end, depth);
  }
  if (at !== end) throw invalid('a document ends before its declared length');
  return end;
}

/** Fields are found by their names, so the elements of an array must have those of their positions. */
function checkPosition(name: string, position: number): void {
  if (name !== String(position)) throw unsupported('An array whose elements are not numbered from 0');
}

function validateValue(bytes: Buffer, type: number, at: number, limit: number, depth: number): number {
  switch (type) {
    case BsonType.date:
      within(at + 8, limit);
      checkDate(bytes.readBigInt64LE(at));
      return at + 8;
    case BsonType.double:
    case BsonType.timestamp:
    case BsonType.long:
    case BsonType.objectId:
    case BsonType.int:
    case BsonType.decimal:
    case BsonType.null:
    case BsonType.minKey & 0xff:
    case BsonType.maxKey:
      return within(valueEnd(bytes, type, at), limit);
    case BsonType.bool:
      if (at >= limit || (bytes[at] as number) > 1) throw invalid('a boolean is neither 0 nor 1');
      return at + 1;
    case BsonType.string:
    case BsonType.javascript:
      return stringEnd(bytes, at, limit);
    case BsonType.object:
    case BsonType.array:
      return validateElements(bytes, type, at, limit, depth + 1);
    case BsonType.binData:
      return binaryEnd(bytes, at, limit);
    case BsonType.regex: {
      const options = cstringEnd(bytes, at, limit);
      const end = cstringEnd(bytes, options, limit);
      checkedOptions(bytes.toString('utf8', options, end - 1));
      return end;
    }
    default:
      throw unknownType(type);
  }
}

function checkDate(millis: bigint): void {
  if (millis > maxDate || millis < -maxDate) throw dateBeyondRange();
}

function within(end: number, limit: number): number {
  if (end > limit) throw invalid('a value is cut off');
  return end;
}

function cstringEnd(bytes: Buffer, at: number, limit: number): number {
  const zero = bytes.indexOf(0, at);
  if (zero < 0 || zero >= limit) throw invalid('a name has no end');
  checkUtf8(bytes, at, zero);
  return zero + 1;
}

function stringEnd(bytes: Buffer, at: number, limit: number): number {
  within(at + 5, limit);
  const length = bytes.readInt32LE(at);
  if (length < 1) throw invalid('the length of a string is wrong');
  const end = within(at + 4 + length, limit);
  if (bytes[end - 1] !== 0) throw invalid('a string has no end');
  checkUtf8(bytes, at + 4, end - 1);
  return end;
}

function binaryEnd(bytes: Buffer, at: number, limit: number): number {
  within(at + 5, limit);
  const length = bytes.readInt32LE(at);
  const end = at + 5 + length;
  const legacy = bytes[at + 4] === 2;
  if (length < 0 || end > limit || (legacy && (length < 4 || bytes.readInt32LE(at + 5) !== length - 4))) {
    throw invalid('the length of a binary value is wrong');
  }
  return end;
}

/** Short texts, most of all field names, are ASCII: a loop over them beats the call into native code. */
function checkUtf8(bytes: Buffer, start: number, end: number): void {
  let at = start;
  const quick = Math.min(end, start + 32);
  while (at < quick && (bytes[at] as number) < 0x80) at++;
  if (at < end && !isUtf8(bytes.subarray(at, end))) throw invalid('a string is not UTF-8');
}

function invalid(reason: string): Error {
  return failure('InvalidBSON', `Invalid BSON: ${reason}`);
}
