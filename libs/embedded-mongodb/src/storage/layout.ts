/**
 * The structure of the store's keys. Every table (a collection's documents, an index) has a four-byte number
 * with which its keys begin; table 0 is the catalog.
 */

import { createHash } from 'node:crypto';
import type { KeyRange } from './store.js';

/** Size of a table's number. Unit: bytes. */
export const tableBytes = 4;

/** Size of a record's number: enough for 2^48 documents per collection. Unit: bytes. */
const recordBytes = 6;

/**
 * Maximum size of a value that an index stores in full. LMDB's keys are limited to 1,978 bytes; for a longer
 * value, the beginning and a digest of the whole are stored, so that equality still works. Unit: bytes.
 */
const maxKeyBytes = 1_900;
const digestBytes = 32;

/** Above every byte that a value's key can begin with, in either direction. */
const above = Buffer.from([0xff]);

/** A key that fits. */
export interface FittedKey {
  bytes: Buffer;
  /** Whether the key was cut: its order among others with the same beginning is then meaningless. */
  cut: boolean;
}

export function fitKey(key: Buffer): FittedKey {
  if (key.length <= maxKeyBytes) return { bytes: key, cut: false };
  const digest = createHash('sha256').update(key).digest();
  return { bytes: Buffer.concat([key.subarray(0, maxKeyBytes - digestBytes), digest]), cut: true };
}

/** A bound no longer than the part that is always stored: a cut key has the same beginning. */
export function fitBound(bound: Buffer): Buffer {
  return bound.subarray(0, maxKeyBytes - digestBytes);
}

/** Bytes above all keys with the beginning of a bound, which may go on with any digest. */
export function afterFitted(bound: Buffer): Buffer {
  return Buffer.concat([fitBound(bound), Buffer.alloc(digestBytes + 1, above)]);
}

/** Whether a bound is shorter than the part of a key that is always stored. */
export function boundFits(bound: Buffer): boolean {
  return bound.length < maxKeyBytes - digestBytes;
}

export function tablePrefix(table: number): Buffer {
  const prefix = Buffer.allocUnsafe(tableBytes);
  prefix.writeUInt32BE(table);
  return prefix;
}

/** All keys of a table. */
export function tableRange(table: number): KeyRange {
  return { low: tablePrefix(table), high: tablePrefix(table + 1) };
}

/** All keys of a table from `low` (included) to `high` (excluded). */
export function keyRange(table: number, low: Buffer, high: Buffer): KeyRange {
  const prefix = tablePrefix(table);
  return { low: Buffer.concat([prefix, low]), high: Buffer.concat([prefix, high]) };
}

/** The smallest bytes above all keys that begin with `key`. */
export function after(key: Buffer): Buffer {
  return Buffer.concat([key, above]);
}

export function recordKey(table: number, record: number): Buffer {
  const key = Buffer.allocUnsafe(tableBytes + recordBytes);
  key.writeUInt32BE(table);
  key.writeUIntBE(record, tableBytes, recordBytes);
  return key;
}

export function recordOf(key: Buffer): number {
  return key.readUIntBE(key.length - recordBytes, recordBytes);
}

/** A record's number as the value of an entry in a unique index. */
export function recordValue(record: number): Buffer {
  const value = Buffer.allocUnsafe(recordBytes);
  value.writeUIntBE(record, 0, recordBytes);
  return value;
}

/** The key of an entry in a unique index, whose value names the record. */
export function uniqueKey(table: number, key: Buffer): Buffer {
  const result = Buffer.allocUnsafe(tableBytes + key.length);
  result.writeUInt32BE(table);
  key.copy(result, tableBytes);
  return result;
}

/** The key of an entry in any other index, which ends with the record. */
export function sharedKey(table: number, key: Buffer, record: number): Buffer {
  const result = Buffer.allocUnsafe(tableBytes + key.length + recordBytes);
  result.writeUInt32BE(table);
  key.copy(result, tableBytes);
  result.writeUIntBE(record, tableBytes + key.length, recordBytes);
  return result;
}
