import { Binary, BSONRegExp, BSONSymbol, Code, ObjectId, Timestamp } from 'bson';
import { compareNumbers } from './numbers.js';
import {
  type BsonDocument,
  type BsonNumber,
  type BsonTypeName,
  type BsonValue,
  DbPointer,
  ScopedCode,
  typeName,
} from './types.js';

/** The place of each type in the sort order; types with the same place compare by value with each other. */
const ranks: Record<BsonTypeName, number> = {
  minKey: -1,
  undefined: 0,
  null: 5,
  int: 10,
  double: 10,
  long: 10,
  decimal: 10,
  string: 15,
  symbol: 15,
  object: 20,
  array: 25,
  binData: 30,
  objectId: 35,
  bool: 40,
  date: 45,
  timestamp: 47,
  regex: 50,
  dbPointer: 55,
  javascript: 60,
  javascriptWithScope: 65,
  maxKey: 127,
};

/**
 * A value's place among the types.
 *
 * @see https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
export function typeRank(value: BsonValue): number {
  return ranks[typeName(value)];
}

/** The total order over BSON values: by type first, then by value. Arrays compare element by element. */
export function compareValues(a: BsonValue, b: BsonValue): number {
  const rank = typeRank(a);
  return rank - typeRank(b) || compareWithinType(rank, a, b);
}

/** Whether two values are the same to MongoDB: numbers by value across their types, documents with their field order. */
export function valuesEqual(a: BsonValue, b: BsonValue): boolean {
  return compareValues(a, b) === 0;
}

/** Field by field in their order: the types, then the names, then the values; a document that ends first is less. */
export function compareDocuments(a: BsonDocument, b: BsonDocument): number {
  const others = b.entries();
  for (const [name, value] of a) {
    const other = others.next();
    if (other.done) return 1;
    const [otherName, otherValue] = other.value;
    const rank = typeRank(value);
    const result =
      rank - typeRank(otherValue) ||
      compareStrings(name, otherName) ||
      compareWithinType(rank, value, otherValue);
    if (result !== 0) return result;
  }
  return others.next().done ? 0 : -1;
}

/** The order of the strings' UTF-8 bytes; JavaScript's own differs where surrogate pairs meet U+E000 to U+FFFF. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

function compareWithinType(rank: number, a: BsonValue, b: BsonValue): number {
  switch (rank) {
    case ranks.int:
      return compareNumbers(a as BsonNumber, b as BsonNumber);
    case ranks.string:
      return compareStrings(textOf(a as string | BSONSymbol), textOf(b as string | BSONSymbol));
    case ranks.object:
      return compareDocuments(a as BsonDocument, b as BsonDocument);
    case ranks.array:
      return compareArrays(a as BsonValue[], b as BsonValue[]);
    case ranks.binData:
      return compareBinaries(a as Binary, b as Binary);
    case ranks.objectId:
      return Buffer.compare((a as ObjectId).id, (b as ObjectId).id);
    case ranks.bool:
      return Number(a) - Number(b);
    case ranks.date:
      return (a as Date).getTime() - (b as Date).getTime();
    case ranks.timestamp:
      return (a as Timestamp).compare(b as Timestamp);
    case ranks.regex:
      return compareRegexes(a as BSONRegExp, b as BSONRegExp);
    case ranks.dbPointer:
      return comparePointers(a as DbPointer, b as DbPointer);
    case ranks.javascript:
      return compareStrings((a as Code).code.toString(), (b as Code).code.toString());
    case ranks.javascriptWithScope:
      return compareScopedCode(a as ScopedCode, b as ScopedCode);
    default:
      return 0;
  }
}

function compareArrays(a: BsonValue[], b: BsonValue[]): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const result = compareValues(a[index] as BsonValue, b[index] as BsonValue);
    if (result !== 0) return result;
  }
  return a.length - b.length;
}

function compareBinaries(a: Binary, b: Binary): number {
  return (
    a.position - b.position ||
    a.sub_type - b.sub_type ||
    Buffer.compare(a.buffer.subarray(0, a.position), b.buffer.subarray(0, b.position))
  );
}

function compareRegexes(a: BSONRegExp, b: BSONRegExp): number {
  return compareStrings(a.pattern, b.pattern) || compareStrings(a.options, b.options);
}

function comparePointers(a: DbPointer, b: DbPointer): number {
  return (
    Buffer.byteLength(a.namespace) - Buffer.byteLength(b.namespace) ||
    compareStrings(a.namespace, b.namespace) ||
    Buffer.compare(a.id.id, b.id.id)
  );
}

function compareScopedCode(a: ScopedCode, b: ScopedCode): number {
  return compareStrings(a.code, b.code) || compareDocuments(a.scope, b.scope);
}

function textOf(value: string | BSONSymbol): string {
  return typeof value === 'string' ? value : value.value;
}
