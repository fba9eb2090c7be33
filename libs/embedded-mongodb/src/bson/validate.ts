import { isUtf8 } from 'node:buffer';
import { failure, unsupported } from '../errors.js';
import { decodeDocument } from './decode.js';
import { valueEnd } from './raw.js';
import { type BsonDocument, BsonType } from './types.js';

/**
 * Maximum nesting of a stored document. The rest of {@link messageLevels} is room for the command around it.
 * Unit: levels.
 *
 * @see https://www.mongodb.com/docs/manual/reference/limits/#mongodb-limit-Nested-Depth-for-BSON-Documents
 */
export const storedLevels = 180;

/** Maximum nesting of a message. Unit: levels. */
export const messageLevels = 200;

/** Largest distance from 1970 that a JavaScript Date can hold. Unit: milliseconds. */
const maxDate = 8_640_000_000_000_000n;

/** The deprecated types of BSON, by number. */
const deprecated = new Map<number, string>([
  [BsonType.undefined, 'undefined'],
  [BsonType.dbPointer, 'DBPointer'],
  [BsonType.symbol, 'symbol'],
  [BsonType.javascriptWithScope, 'JavaScript with scope'],
]);

/**
 * Checks that bytes from outside are a well-formed document, so that later code can read them without checks.
 *
 * @param levels Maximum nesting.
 * @throws CommandError InvalidBSON (22) for malformed bytes, Overflow (15) for deeper nesting,
 * CommandNotSupported (115) for features that this server lacks: a repeated field name, an empty timestamp, a
 * date that JavaScript cannot hold, and deprecated types.
 * @see https://bsonspec.org/spec.html
 */
export function validateDocument(bytes: Buffer, levels: number): void {
  if (bytes.length < 5 || bytes.readInt32LE(0) !== bytes.length)
    throw invalid('the length of a document is wrong');
  validateElements(bytes, BsonType.object, 0, bytes.length, levels);
}

/** Decodes a document of a message; see {@link validateDocument}. */
export function readDocument(bytes: Buffer): BsonDocument {
  validateDocument(bytes, messageLevels);
  return decodeDocument(bytes);
}

function validateElements(bytes: Buffer, type: number, start: number, limit: number, levels: number): number {
  if (levels === 0) throw failure('Overflow', 'Document exceeds the maximum nested object depth');
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
    else if (names.add(name).size === fields)
      throw unsupported(
        `A document that names the field '${bytes.toString('utf8', at, valueStart - 1)}' twice`,
      );
    at = validateValue(bytes, elementType, valueStart, end, levels);
  }
  if (at !== end) throw invalid('a document ends before its declared length');
  return end;
}

/** Fields are found by name, so the elements of an array must be named by their positions. */
function checkPosition(name: string, position: number): void {
  if (name !== String(position)) throw unsupported('An array whose elements are not numbered from 0');
}

function validateValue(bytes: Buffer, type: number, at: number, limit: number, levels: number): number {
  switch (type) {
    case BsonType.date:
      within(at + 8, limit);
      checkDate(bytes.readBigInt64LE(at));
      return at + 8;
    case BsonType.timestamp:
      within(at + 8, limit);
      // MongoDB replaces it with the time of the server.
      if (bytes.readBigInt64LE(at) === 0n) throw unsupported('An empty timestamp');
      return at + 8;
    case BsonType.double:
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
      return validateElements(bytes, type, at, limit, levels - 1);
    case BsonType.binData:
      return binaryEnd(bytes, at, limit);
    case BsonType.regex: {
      const options = cstringEnd(bytes, at, limit);
      const end = cstringEnd(bytes, options, limit);
      checkOptions(bytes.toString('utf8', options, end - 1));
      return end;
    }
    default:
      throw deprecated.has(type)
        ? unsupported(`The deprecated type ${deprecated.get(type)}`)
        : invalid(`unrecognized BSON type ${type}`);
  }
}

function checkDate(millis: bigint): void {
  if (millis > maxDate || millis < -maxDate) throw unsupported('A date beyond the years -271821 to 275760');
}

/** The class of regular expressions knows the options, and sorts them. */
function checkOptions(options: string): void {
  if (!/^i?l?m?s?u?x?$/.test(options))
    throw unsupported(`A regular expression with the options '${options}'`);
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

/**
 * Short texts, especially field names, are usually ASCII: a loop over them is faster than a call into native
 * code.
 */
function checkUtf8(bytes: Buffer, start: number, end: number): void {
  let at = start;
  const quick = Math.min(end, start + 32);
  while (at < quick && (bytes[at] as number) < 0x80) at++;
  if (at < end && !isUtf8(bytes.subarray(at, end))) throw invalid('a string is not UTF-8');
}

function invalid(reason: string): Error {
  return failure('InvalidBSON', `Invalid BSON: ${reason}`);
}
