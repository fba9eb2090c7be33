import { Decimal128, Double } from 'bson';
import { dateBeyondRange, maxDate } from '../../bson/decode.js';
import { fromDecimal128, nearestDecimal, toDecimal128 } from '../../bson/decimal.js';
import { truncate } from '../../bson/numbers.js';
import type { BsonNumber } from '../../bson/types.js';
import { failure } from '../../errors.js';

/** A number as whole milliseconds: a double is rounded half away from zero, a decimal half to even. */
export function wholeMillis(operator: string, value: BsonNumber): bigint {
  const whole = value instanceof Double ? awayFromZero(value) : truncate(halfToEven(value));
  if (whole === undefined) throw failure('Overflow', `date overflow in ${operator}`);
  return whole;
}

function awayFromZero({ value }: Double): bigint | undefined {
  // Adding a half first would be inexact just below a half, and from 2^52 on.
  const whole = Math.trunc(value);
  return truncate(new Double(Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole));
}

function halfToEven(value: BsonNumber): BsonNumber {
  return value instanceof Decimal128 ? toDecimal128(nearestDecimal(fromDecimal128(value))) : value;
}

/** @throws CommandError Overflow (15) beyond 64 bits */
export function millisInRange(operator: string, millis: bigint): bigint {
  if (BigInt.asIntN(64, millis) !== millis) throw failure('Overflow', `date overflow in ${operator}`);
  return millis;
}

/** @throws CommandError CommandNotSupported (115) for a date that JavaScript cannot hold */
export function dateFromMillis(millis: bigint): Date {
  if (millis > maxDate || millis < -maxDate) throw dateBeyondRange();
  return new Date(Number(millis));
}
