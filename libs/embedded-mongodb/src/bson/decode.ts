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
import { failure, unsupported } from '../errors.js';
import { type BsonArray, type BsonDocument, BsonType, type BsonValue } from './types.js';

/** Deepest nesting of a message. Unit: levels. */
export const maxDepth = 200;

/**
 * Deepest nesting of a stored document; the rest is room for the command around it. Unit: levels.
 *
 * @see https://www.mongodb.com/docs/manual/reference/limits/#mongodb-limit-Nested-Depth-for-BSON-Documents
 */
export const maxStoredDepth = 180;

/** Milliseconds from 1970 that a JavaScript Date can hold, either way. */
export const maxDate = 8_640_000_000_000_000n;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Decodes a document and checks every length, type and string on the way, since the bytes may come from anyone.
 *
 * @throws CommandError InvalidBSON (22) on malformed bytes, Overflow (15) on nesting beyond {@link maxDepth},
 *   CommandNotSupported (115) for a document that names a field twice and for a date that JavaScript cannot hold.
 * @see https://bsonspec.org/spec.html
 */
export function decodeDocument(bytes: Uint8Array): BsonDocument {
  return new Decoder(bytes).document(1);
}

/**
 * The value of one top-level field, without decoding the fields around it.
 *
 * @returns `undefined` when the document has no such field.
 */
export function decodeField(bytes: Uint8Array, name: string): BsonValue | undefined {
  return new Decoder(bytes).field(name);
}

class Decoder {
  private readonly buffer: Buffer;
  private readonly view: DataView;
  private at = 0;
  private end: number;

  constructor(bytes: Uint8Array) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.byteLength;
    if (this.end < 5 || this.view.getInt32(0, true) !== this.end) {
      throw invalid(`document length does not match its ${this.end} bytes`);
    }
  }

  document(depth: number): BsonDocument {
    const result: BsonDocument = new Map();
    let fields = 0;
    this.eachElement(depth, (type) => {
      const name = this.cstring();
      result.set(name, this.value(type, depth));
      if (result.size !== ++fields) throw repeatedName(name);
    });
    return result;
  }

  field(wanted: string): BsonValue | undefined {
    this.at += 4;
    for (let type = this.byte(); type !== 0; type = this.byte()) {
      const name = this.cstring();
      if (name === wanted) return this.value(type, 1);
      this.skip(type);
    }
    return undefined;
  }

  private array(depth: number): BsonArray {
    const result: BsonArray = [];
    this.eachElement(depth, (type) => {
      this.skipCstring();
      result.push(this.value(type, depth));
    });
    return result;
  }

  /** Runs over the elements of the document that starts here, within its own declared bounds. */
  private eachElement(depth: number, read: (type: number) => void): void {
    if (depth > maxDepth)
      throw failure('Overflow', `Document exceeds maximum nested object depth: ${maxDepth}`);
    const outerEnd = this.end;
    const start = this.at;
    const length = this.int32();
    if (length < 5 || start + length > outerEnd)
      throw invalid('embedded document is longer than what surrounds it');
    this.end = start + length;
    for (let type = this.byte(); type !== 0; type = this.byte()) read(type);
    if (this.at !== this.end) throw invalid('document ends before its declared length');
    this.end = outerEnd;
  }

  private value(type: number, depth: number): BsonValue {
    switch (type) {
      case BsonType.double:
        return new Double(this.view.getFloat64(this.take(8), true));
      case BsonType.string:
        return this.string();
      case BsonType.object:
        return this.document(depth + 1);
      case BsonType.array:
        return this.array(depth + 1);
      case BsonType.binData:
        return this.binary();
      case BsonType.objectId:
        return this.objectId();
      case BsonType.bool:
        return this.bool();
      case BsonType.date:
        return this.date();
      case BsonType.null:
        return null;
      case BsonType.regex:
        return this.regex();
      case BsonType.javascript:
        return new Code(this.string());
      case BsonType.int:
        return new Int32(this.int32());
      case BsonType.timestamp:
        return new Timestamp(this.long());
      case BsonType.long:
        return this.long();
      case BsonType.decimal:
        return new Decimal128(this.copy(16));
      case BsonType.minKey & 0xff:
        return new MinKey();
      case BsonType.maxKey:
        return new MaxKey();
      default:
        throw unknownType(type);
    }
  }

  /** Passes over a value of the first level; the containers among them declare their own length. */
  private skip(type: number): void {
    if (type !== BsonType.object && type !== BsonType.array) {
      this.value(type, 1);
      return;
    }
    const length = this.view.getInt32(this.take(4), true);
    if (length < 5) throw invalid('embedded document is too short');
    this.take(length - 4);
  }

  private take(length: number): number {
    const start = this.at;
    if (length < 0 || start + length > this.end)
      throw invalid('value reaches beyond the end of its document');
    this.at = start + length;
    return start;
  }

  private byte(): number {
    return this.buffer[this.take(1)] as number;
  }

  private int32(): number {
    return this.view.getInt32(this.take(4), true);
  }

  private long(): Long {
    return new Long(this.int32(), this.int32());
  }

  /** Copied, since storage may reuse the memory behind the bytes it handed out. */
  private copy(length: number): Uint8Array {
    const start = this.take(length);
    return Uint8Array.prototype.slice.call(this.buffer, start, start + length) as Uint8Array;
  }

  private objectId(): ObjectId {
    return new ObjectId(this.copy(12));
  }

  private bool(): boolean {
    const value = this.byte();
    if (value > 1) throw invalid('a boolean is neither 0 nor 1');
    return value === 1;
  }

  private date(): Date {
    const millis = this.view.getBigInt64(this.take(8), true);
    if (millis > maxDate || millis < -maxDate) throw dateBeyondRange();
    return new Date(Number(millis));
  }

  private regex(): BSONRegExp {
    const pattern = this.cstring();
    return new BSONRegExp(pattern, checkedOptions(this.cstring()));
  }

  private binary(): Binary {
    const length = this.int32();
    const subtype = this.byte();
    if (subtype !== Binary.SUBTYPE_BYTE_ARRAY) return new Binary(Buffer.from(this.copy(length)), subtype);
    if (this.int32() !== length - 4) throw invalid('the inner length of a binary value is wrong');
    return new Binary(Buffer.from(this.copy(length - 4)), subtype);
  }

  private string(): string {
    const length = this.int32();
    const start = this.take(length);
    if (length < 1 || this.buffer[this.at - 1] !== 0) throw invalid('a string is not terminated');
    return this.utf8(start, this.at - 1);
  }

  private cstring(): string {
    const start = this.at;
    this.skipCstring();
    return this.utf8(start, this.at - 1);
  }

  private skipCstring(): void {
    const zero = this.buffer.indexOf(0, this.at);
    if (zero < 0 || zero >= this.end) throw invalid('a name is not terminated');
    this.at = zero + 1;
  }

  private utf8(start: number, end: number): string {
    const text = this.buffer.toString('utf8', start, end);
    // Buffer replaces bytes that are not UTF-8 by U+FFFD; only the strict decoder tells it from a real one.
    if (text.includes('\ufffd')) {
      try {
        strictUtf8.decode(this.buffer.subarray(start, end));
      } catch {
        throw invalid('a string is not UTF-8');
      }
    }
    return text;
  }
}

/** The refusal of a document with two fields of one name, of which MongoDB keeps both. */
export function repeatedName(name: string): Error {
  return unsupported(`A document that names the field '${name}' twice`);
}

/** The options of a regular expression as a value; the class that holds it knows some and puts them in order. */
export function checkedOptions(options: string): string {
  if (/^i?l?m?s?u?x?$/.test(options)) return options;
  throw unsupported(`A regular expression with the options '${options}'`);
}

/** The refusal of a date that a JavaScript Date cannot hold. */
export function dateBeyondRange(): Error {
  return unsupported('A date beyond the years -271821 to 275760');
}

/** The types that BSON calls deprecated, by their numbers. */
const deprecated = new Map<number, string>([
  [BsonType.undefined, 'undefined'],
  [BsonType.dbPointer, 'DBPointer'],
  [BsonType.symbol, 'symbol'],
  [BsonType.javascriptWithScope, 'JavaScript with scope'],
]);

/** The refusal of a type that has no values here. */
export function unknownType(type: number): Error {
  const name = deprecated.get(type);
  return name ? unsupported(`The deprecated type ${name}`) : invalid(`unrecognized BSON type ${type}`);
}

function invalid(reason: string): Error {
  return failure('InvalidBSON', `Invalid BSON: ${reason}`);
}
