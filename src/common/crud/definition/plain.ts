import { mongo, Types } from 'mongoose';

/**
 * Returns a stored value in the form that JSON should carry: identifiers, decimals and 64-bit integers as
 * strings, maps as objects, bytes in base64, UUIDs in their usual form. Dates stay dates, which JSON writes
 * as timestamps.
 */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Types.ObjectId) return value.toHexString();
  if (value instanceof Types.Decimal128 || value instanceof mongo.Long) return value.toString();
  if (value instanceof mongo.Binary) {
    return value.sub_type === mongo.Binary.SUBTYPE_UUID
      ? value.toUUID().toString()
      : value.toString('base64');
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  const entries = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
  return Object.fromEntries(entries.map(([key, entry]) => [key, plain(entry)]));
}
