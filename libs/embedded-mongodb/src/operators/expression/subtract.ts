import { Double, Long } from 'bson';
import { binary, expressions, nameOf, nullable, present } from '../../aggregate/operator.js';
import { plainNumber, subtract, toDouble } from '../../bson/numbers.js';
import { type BsonValue, isNumber } from '../../bson/types.js';
import { typeMismatch, unsupported } from '../../errors.js';

expressions.define('$subtract', nullable(binary((a, b) => difference(present(a), present(b)))));

function difference(a: BsonValue, b: BsonValue): BsonValue {
  if (a instanceof Date && b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime());
  if (a instanceof Date && isNumber(b)) throw unsupported('$subtract of a number from a date');
  if (!isNumber(a) || !isNumber(b)) {
    throw typeMismatch(`can't $subtract ${nameOf(b)} from ${nameOf(a)}`);
  }
  return subtract(plainNumber(a), plainNumber(b)) ?? new Double(toDouble(a) - toDouble(b));
}
