import { Decimal128, Double, Long } from 'bson';
import { binary, expressions, nameOf, nullable, present } from '../../aggregate/operator.js';
import { remainderOfDecimals, toDecimal128 } from '../../bson/decimal.js';
import { integerValue, isZero, toDecimal, toDouble, truncate } from '../../bson/numbers.js';
import { type BsonValue, isNumber } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define('$mod', nullable(binary((a, b) => modulo(present(a), present(b)))));

function modulo(a: BsonValue, b: BsonValue): BsonValue {
  if (!isNumber(a) || !isNumber(b)) {
    throw failureAt(16611, `$mod only supports numeric types, not ${nameOf(a)} and ${nameOf(b)}`);
  }
  const decimal = a instanceof Decimal128 || b instanceof Decimal128;
  if (isZero(b)) throw failureAt(decimal ? 5733415 : 16610, `can't $mod by zero`);
  if (decimal) {
    return toDecimal128(remainderOfDecimals(toDecimal(a), toDecimal(b)));
  }
  // As in MongoDB, dividing a whole number by a double with the value of an Int32 leaves it whole.
  const whole = toDouble(b) === (toDouble(b) | 0);
  if (a instanceof Double || (b instanceof Double && !whole)) return new Double(toDouble(a) % toDouble(b));
  return integerValue((truncate(a) ?? 0n) % (truncate(b) ?? 1n), a instanceof Long || b instanceof Long);
}
