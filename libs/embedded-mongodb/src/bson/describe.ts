import { Binary, BSONRegExp, Code, Decimal128, Double, Int32, Long, ObjectId, Timestamp } from 'bson';
import { type BsonDocument, BsonUndefined, type BsonValue, isDocument, typeName } from './types.js';

/** A document as MongoDB writes it in messages: `{ a: 1, b: "x" }`. */
export function describeDocument(document: BsonDocument): string {
  if (document.size === 0) return '{}';
  return `{ ${[...document].map(([name, value]) => `${name}: ${describe(value)}`).join(', ')} }`;
}

/** A field as MongoDB writes it in messages: `a: 1`. */
export function describeField(name: string, value: BsonValue): string {
  return `${name}: ${describe(value)}`;
}

/** A value as MongoDB writes it in messages. */
export function describe(value: BsonValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`;
  if (typeof value === 'boolean') return String(value);
  if (isDocument(value)) return describeDocument(value);
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${value.map(describe).join(', ')} ]`;
  if (value instanceof Int32) return String(value.value);
  if (value instanceof Double) return describeDouble(value.value);
  if (value instanceof ObjectId) return `ObjectId('${value.toHexString()}')`;
  if (value instanceof Date) return `new Date(${value.getTime()})`;
  if (value instanceof Timestamp) return `Timestamp(${value.t}, ${value.i})`;
  if (value instanceof Long || value instanceof Decimal128) return value.toString();
  if (value instanceof Binary) return describeBinary(value);
  if (value instanceof BSONRegExp) return `/${value.pattern}/${value.options}`;
  if (value instanceof BsonUndefined) return 'undefined';
  if (value instanceof Code) return String(value.code);
  return { minKey: 'MinKey', maxKey: 'MaxKey' }[typeName(value) as string] ?? typeName(value);
}

function describeDouble(value: number): string {
  if (Number.isNaN(value)) return 'nan.0';
  if (!Number.isFinite(value)) return value > 0 ? 'inf.0' : '-inf.0';
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? value.toFixed(1) : String(value);
}

function describeBinary(value: Binary): string {
  const hex = Buffer.from(value.buffer.subarray(0, value.position)).toString('hex').toUpperCase();
  if (value.sub_type === Binary.SUBTYPE_UUID && hex.length === 32) {
    return `UUID("${hex.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')}")`;
  }
  return `BinData(${value.sub_type}, ${hex})`;
}
