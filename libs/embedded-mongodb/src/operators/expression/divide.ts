import { Double } from 'bson';
import { binary, expressions, nameOf, nullable, present } from '../../aggregate/operator.js';
import { isZero, plainNumber, toDouble } from '../../bson/numbers.js';
import { type BsonValue, isNumber } from '../../bson/types.js';
import { badValue, typeMismatch } from '../../errors.js';

expressions.define('$divide', nullable(binary((a, b) => divide(present(a), present(b)))));

function divide(a: BsonValue, b: BsonValue): BsonValue {
  if (!isNumber(a) || !isNumber(b)) {
    throw typeMismatch(`$divide only supports numeric types, not ${nameOf(a)} and ${nameOf(b)}`);
  }
  if (isZero(b)) throw badValue(`can't $divide by zero`);
  return new Double(toDouble(plainNumber(a)) / toDouble(plainNumber(b)));
}
