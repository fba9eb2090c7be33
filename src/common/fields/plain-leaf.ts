import { Types } from 'mongoose';
import type { FieldSource } from './field-source.js';

/** A value of code or of the store in the form that bodies have: identifiers and decimals are strings. */
export function plainLeaf({ kind, schema, list }: FieldSource, value: unknown): unknown {
  if (kind === 'other') return value;
  if (value instanceof Types.ObjectId) return value.toHexString();
  if (value instanceof Types.Decimal128) return value.toString();
  const isTimestampText = kind === 'text' && (list ? schema.items : schema)?.format === 'date-time';
  return isTimestampText && value instanceof Date && !Number.isNaN(value.getTime())
    ? value.toISOString()
    : value;
}
