import { Int32, Long, ObjectId, Timestamp } from 'bson';
import { isDocument, typeName } from '../../bson/types.js';
import { failureAt, unsupported } from '../../errors.js';
import { nullable, type Operator, unary } from '../operator.js';
import type { Result } from '../scope.js';

/** A part of a date in UTC; a timezone is refused. */
export function datePart(read: (date: Date) => number): Operator {
  return nullable(unary((value) => new Int32(read(dateOf(value)))));
}

function dateOf(value: Result): Date {
  if (value instanceof Date) return value;
  // The seconds of an identifier are signed in MongoDB: from 2038 on they count as times before 1970.
  if (value instanceof ObjectId) return new Date(Buffer.from(value.id).readInt32BE(0) * 1000);
  if (value instanceof Timestamp) return new Date(Long.fromBits(value.high, 0, true).toNumber() * 1000);
  if (isDocument(value)) throw unsupported('A timezone of a date operator');
  throw failureAt(
    16006,
    `can't convert from BSON type ${value === undefined ? 'missing' : typeName(value)} to Date`,
  );
}
