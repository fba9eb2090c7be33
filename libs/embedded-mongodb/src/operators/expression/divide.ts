import { Decimal128, Double } from 'bson';
import { binary, expressions, nameOf, nullable, present } from '../../aggregate/operator.js';
import { divideDecimals, toDecimal128 } from '../../bson/decimal.js';
import { isZero, toDecimal, toDouble } from '../../bson/numbers.js';
import { type BsonValue, isNumber } from '../../bson/types.js';
import { failure } from '../../errors.js';

expressions.define('$divide', nullable(binary((a, b) => divide(present(a), present(b)))));

function divide(a: BsonValue, b: BsonValue): BsonValue {
  if (!isNumber(a) || !isNumber(b)) {
    throw failure('TypeMismatch', `$divide only supports numeric types, not ${nameOf(a)} and ${nameOf(b)}`);
  }
  if (isZero(b)) throw failure('BadValue', `can't $divide by zero`);
  if (a instanceof Decimal128 || b instanceof Decimal128) {
    return toDecimal128(divideDecimals(toDecimal(a), toDecimal(b)));
  }
  return new Double(toDouble(a) / toDouble(b));
}
