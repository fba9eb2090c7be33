import { Decimal128, Double, Long } from 'bson';
import { binary, expressions, nameOf, nullable, present } from '../../aggregate/operator.js';
import { addDecimals, negateDecimal, toDecimal128 } from '../../bson/decimal.js';
import { integerValue, toDecimal, toDouble, truncate } from '../../bson/numbers.js';
import { type BsonValue, isNumber } from '../../bson/types.js';
import { failure, unsupported } from '../../errors.js';

expressions.define('$subtract', nullable(binary((a, b) => subtract(present(a), present(b)))));

function subtract(a: BsonValue, b: BsonValue): BsonValue {
  if (a instanceof Date && b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime());
  if (a instanceof Date && isNumber(b)) throw unsupported('$subtract of a number from a date');
  if (!isNumber(a) || !isNumber(b)) {
    throw failure('TypeMismatch', `can't $subtract ${nameOf(b)} from ${nameOf(a)}`);
  }
  if (a instanceof Decimal128 || b instanceof Decimal128)
    return toDecimal128(addDecimals(toDecimal(a), negateDecimal(toDecimal(b))));
  if (a instanceof Double || b instanceof Double) return new Double(toDouble(a) - toDouble(b));
  const difference = (truncate(a) ?? 0n) - (truncate(b) ?? 0n);
  if (BigInt.asIntN(64, difference) !== difference) return new Double(toDouble(a) - toDouble(b));
  return integerValue(difference, a instanceof Long || b instanceof Long);
}
