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

/**
 * The value of an empty array in an index or a sort. The deprecated type 6 is rejected as a value of
 * documents; JavaScript's `undefined` means "no such field".
 */
export class BsonUndefined {
  static readonly value = new BsonUndefined();

  readonly bsonType = 'undefined';
}

/** The four numeric types of BSON. Plain JavaScript numbers are not used, since they would lose the type. */
export type BsonNumber = Int32 | Double | Long | Decimal128;

/** Every value a field of a document can hold, decoded. */
export type BsonValue =
  | BsonNumber
  | string
  | boolean
  | null
  | BsonDocument
  | BsonArray
  | Date
  | ObjectId
  | Binary
  | BSONRegExp
  | Timestamp
  | BsonUndefined
  | Code
  | MinKey
  | MaxKey;

/** A decoded array. */
export type BsonArray = BsonValue[];

/** A decoded document: a Map, since an object would reorder keys such as `"2"` and trip over `"__proto__"`. */
export type BsonDocument = Map<string, BsonValue>;

/** The numbers that the BSON specification gives its types. */
export const BsonType = {
  double: 1,
  string: 2,
  object: 3,
  array: 4,
  binData: 5,
  undefined: 6,
  objectId: 7,
  bool: 8,
  date: 9,
  null: 10,
  regex: 11,
  dbPointer: 12,
  javascript: 13,
  symbol: 14,
  javascriptWithScope: 15,
  int: 16,
  timestamp: 17,
  long: 18,
  decimal: 19,
  minKey: -1,
  maxKey: 127,
} as const;

/** A type's alias, as `$type` accepts and returns it. */
export type BsonTypeName = keyof typeof BsonType;

const classNames = new Map<unknown, BsonTypeName>([
  [Int32, 'int'],
  [Double, 'double'],
  [Long, 'long'],
  [Decimal128, 'decimal'],
  [Map, 'object'],
  [Array, 'array'],
  [Date, 'date'],
  [ObjectId, 'objectId'],
  [Binary, 'binData'],
  [BSONRegExp, 'regex'],
  [Timestamp, 'timestamp'],
  [BsonUndefined, 'undefined'],
  [Code, 'javascript'],
  [MinKey, 'minKey'],
  [MaxKey, 'maxKey'],
]);

/** The alias of a value's BSON type. */
export function typeName(value: BsonValue): BsonTypeName {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (value === null) return 'null';
  const name = classNames.get(value.constructor);
  if (!name) throw new TypeError(`Not a BSON value: ${String(value)}`);
  return name;
}

/** Whether a value is a document. */
export function isDocument(value: BsonValue | undefined): value is BsonDocument {
  return value instanceof Map;
}

/** Whether a value has one of the four numeric types; a Timestamp extends Long but is not a number. */
export function isNumber(value: BsonValue | undefined): value is BsonNumber {
  if (value instanceof Int32 || value instanceof Double || value instanceof Decimal128) return true;
  return value instanceof Long && !(value instanceof Timestamp);
}

/** A decoded document from plain JavaScript; whole numbers below 2^31 become Int32, all others Double. */
export function toBson(plain: Record<string, unknown>): BsonDocument {
  return new Map(
    Object.entries(plain)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, toBsonValue(value)]),
  );
}

/** One value of {@link toBson}; values that are already BSON are returned unchanged. */
export function toBsonValue(value: unknown): BsonValue {
  if (typeof value === 'number') {
    return Number.isInteger(value) && value === (value | 0) && !Object.is(value, -0)
      ? new Int32(value)
      : new Double(value);
  }
  if (typeof value === 'bigint') return Long.fromBigInt(value);
  if (Array.isArray(value)) return value.map(toBsonValue);
  if (value instanceof Uint8Array) return new Binary(value);
  if (isPlainObject(value)) return toBson(value);
  return value as BsonValue;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
