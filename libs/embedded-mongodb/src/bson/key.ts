import { BsonType, type BsonValue } from './types.js';
import { encodeDocument } from './encode.js';
import { writeNumberKey } from './number-key.js';
import { asBuffer, elements, type RawElement, valueEnd } from './raw.js';

/**
 * BSON values as bytes whose order is the order of the values, so that LMDB's own order serves comparisons, ranges and sorts.
 *
 * No value's bytes are a prefix of another's, so a descending component is simply its bytes inverted.
 *
 * @see https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */

/** First byte of a value: the rank of its type. 0 ends an object or array, and sorts below all of them. */
const rank = {
  minKey: 0x0a,
  undefined: 0x0f,
  null: 0x14,
  number: 0x1e,
  string: 0x3c,
  object: 0x46,
  array: 0x50,
  binData: 0x5a,
  objectId: 0x64,
  bool: 0x6e,
  date: 0x78,
  timestamp: 0x82,
  regex: 0x8c,
  javascript: 0xa0,
  maxKey: 0xf0,
} as const;

const ranks = new Map<number, number>([
  [BsonType.minKey & 0xff, rank.minKey],
  [BsonType.undefined, rank.undefined],
  [BsonType.null, rank.null],
  [BsonType.int, rank.number],
  [BsonType.long, rank.number],
  [BsonType.double, rank.number],
  [BsonType.decimal, rank.number],
  [BsonType.string, rank.string],
  [BsonType.object, rank.object],
  [BsonType.array, rank.array],
  [BsonType.binData, rank.binData],
  [BsonType.objectId, rank.objectId],
  [BsonType.bool, rank.bool],
  [BsonType.date, rank.date],
  [BsonType.timestamp, rank.timestamp],
  [BsonType.regex, rank.regex],
  [BsonType.javascript, rank.javascript],
  [BsonType.maxKey, rank.maxKey],
]);

/** Maximum number of bytes for a value of this size: every zero of a string is doubled. */
const worstCase = (size: number): number => size * 2 + 2048;

let target = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Collects the bytes of one key. All writers share one buffer: finish a key before you begin the next.
 */
export class KeyWriter {
  private at = 0;

  /** Begins a new key. */
  begin(): this {
    this.at = 0;
    return this;
  }

  /** Appends a value of a raw document. */
  raw(bytes: Buffer, element: RawElement, descending = false): this {
    this.room(worstCase(valueEnd(bytes, element.type, element.at) - element.at));
    const start = this.at;
    this.at = writeValue(bytes, element, start);
    if (descending) this.invert(start);
    return this;
  }

  /** Appends a decoded value. */
  value(value: BsonValue, descending = false): this {
    const bytes = asBuffer(encodeDocument(new Map([['', value]])));
    return this.raw(bytes, { type: bytes[4] as number, at: 6 }, descending);
  }

  /** The key, with its own memory. */
  finish(): Buffer {
    return Buffer.from(target.subarray(0, this.at));
  }

  private invert(start: number): void {
    for (let i = start; i < this.at; i++) target[i] = (target[i] as number) ^ 0xff;
  }

  private room(bytes: number): void {
    if (this.at + bytes <= target.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(target.length * 2, this.at + bytes));
    target.copy(larger, 0, 0, this.at);
    target = larger;
  }
}

/** The sortable bytes of one decoded value. */
export function encodeKey(value: BsonValue, descending = false): Buffer {
  return new KeyWriter().value(value, descending).finish();
}

/** The first byte of the keys of a type; all four numeric types share one. */
export function rankOfType(type: number): number {
  return ranks.get(type & 0xff) as number;
}

function writeValue(bytes: Buffer, element: RawElement, to: number): number {
  target[to] = ranks.get(element.type) as number;
  return writeBody(bytes, element, to + 1);
}

/** Writes the part after the type's rank. */
function writeBody(bytes: Buffer, { type, at }: RawElement, to: number): number {
  switch (type) {
    case BsonType.int:
    case BsonType.long:
    case BsonType.double:
    case BsonType.decimal:
      return writeNumberKey(bytes, type, at, target, to);
    case BsonType.string:
    case BsonType.javascript:
      return writeText(bytes, at + 4, at + 3 + bytes.readInt32LE(at), to);
    case BsonType.object:
      return writeObject(bytes, at, to);
    case BsonType.array:
      return writeArray(bytes, at, to);
    case BsonType.binData:
      return writeBinary(bytes, at, to);
    case BsonType.objectId:
      return to + bytes.copy(target, to, at, at + 12);
    case BsonType.bool:
      target[to] = bytes[at] as number;
      return to + 1;
    case BsonType.date:
      // The sign bit flipped makes negative numbers sort below positive ones.
      return target.writeBigUInt64BE(bytes.readBigUInt64LE(at) ^ 0x8000_0000_0000_0000n, to);
    case BsonType.timestamp:
      return target.writeBigUInt64BE(bytes.readBigUInt64LE(at), to);
    case BsonType.regex: {
      const pattern = bytes.indexOf(0, at);
      return writeText(bytes, pattern + 1, bytes.indexOf(0, pattern + 1), writeText(bytes, at, pattern, to));
    }
    default:
      return to;
  }
}

/** A zero byte inside becomes 00 FF, the end 00 00, so that the shorter text sorts first. */
function writeText(bytes: Buffer, start: number, end: number, to: number): number {
  const zero = bytes.indexOf(0, start);
  if (zero < 0 || zero >= end) {
    to += bytes.copy(target, to, start, end);
  } else {
    for (let i = start; i < end; i++) {
      target[to++] = bytes[i] as number;
      if (bytes[i] === 0) target[to++] = 0xff;
    }
  }
  target[to] = target[to + 1] = 0;
  return to + 2;
}

/** Fields compare by type, then name, then value. */
function writeObject(bytes: Buffer, start: number, to: number): number {
  for (const element of elements(bytes, start)) {
    ensure(to + worstCase(element.end - element.name));
    target[to++] = ranks.get(element.type) as number;
    to += bytes.copy(target, to, element.name, element.at);
    to = writeBody(bytes, element, to);
  }
  target[to] = 0;
  return to + 1;
}

function writeArray(bytes: Buffer, start: number, to: number): number {
  for (const element of elements(bytes, start)) {
    ensure(to + worstCase(element.end - element.name));
    to = writeValue(bytes, element, to);
  }
  target[to] = 0;
  return to + 1;
}

/** Length, then subtype, then bytes. */
function writeBinary(bytes: Buffer, at: number, to: number): number {
  const end = at + 5 + bytes.readInt32LE(at);
  const legacy = bytes[at + 4] === 2;
  const start = legacy ? at + 9 : at + 5;
  let next = target.writeUInt32BE(bytes.readInt32LE(at), to);
  target[next++] = bytes[at + 4] as number;
  return next + bytes.copy(target, next, start, end);
}

/** A nested number can need far more bytes than in its document, so containers make room for each element. */
function ensure(size: number): void {
  if (size <= target.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(target.length * 2, size));
  target.copy(larger);
  target = larger;
}
