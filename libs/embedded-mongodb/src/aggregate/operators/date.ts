import { Int32, Long, ObjectId, Timestamp } from 'bson';
import { isDocument, typeName } from '../../bson/types.js';
import { failureAt, unsupported } from '../../errors.js';
import type { Result } from '../scope.js';
import { nullable, type Operator, unary } from './operator.js';

export const dateOperators: Record<string, Operator> = {
  $year: part((date) => date.getUTCFullYear()),
  $month: part((date) => date.getUTCMonth() + 1),
  $dayOfMonth: part((date) => date.getUTCDate()),
  $dayOfWeek: part((date) => date.getUTCDay() + 1),
  $dayOfYear: part(dayOfYear),
  $hour: part((date) => date.getUTCHours()),
  $minute: part((date) => date.getUTCMinutes()),
  $second: part((date) => date.getUTCSeconds()),
  $millisecond: part((date) => date.getUTCMilliseconds()),
};

/** A part of a date in UTC; a timezone is refused. */
function part(read: (date: Date) => number): Operator {
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

/** Days before each month of a common year. */
const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

function dayOfYear(date: Date): number {
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return (daysBefore[month] ?? 0) + date.getUTCDate() + Number(isLeap && month > 1);
}
