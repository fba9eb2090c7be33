import { Decimal128, Double, Long } from 'bson';
import { expressions, isNullish, nameOf, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { add, integerValue, toDouble, truncate } from '../../bson/numbers.js';
import { type BsonNumber, isNumber } from '../../bson/types.js';
import { failure, unsupported } from '../../errors.js';

expressions.define('$add', variadic(addAll, { folds: 'leading' }));

/** Adds up in the widest type met so far. */
function addAll(operands: Iterable<Result>): Result {
  let sum: Total = { kind: 'whole', value: 0n, long: false };
  for (const operand of operands) {
    if (isNullish(operand)) return null;
    if (operand instanceof Date) throw unsupported('$add of a date');
    if (!isNumber(operand))
      throw failure('TypeMismatch', `$add only supports numeric or date types, not ${nameOf(operand)}`);
    sum = plus(sum, operand);
  }
  return numberOf(sum);
}

/** A sum on its way: whole numbers are added as 64 bits, and have their type only at the end. */
type Total = { kind: 'whole'; value: bigint; long: boolean } | { kind: 'other'; value: BsonNumber };

function plus(sum: Total, operand: BsonNumber): Total {
  if (sum.kind === 'other' || operand instanceof Double || operand instanceof Decimal128) {
    return { kind: 'other', value: add(numberOf(sum), operand, 'double') as BsonNumber };
  }
  const value = sum.value + (truncate(operand) ?? 0n);
  if (BigInt.asIntN(64, value) === value)
    return { kind: 'whole', value, long: sum.long || operand instanceof Long };
  return { kind: 'other', value: new Double(Number(sum.value) + toDouble(operand)) };
}

function numberOf(sum: Total): BsonNumber {
  return sum.kind === 'whole' ? integerValue(sum.value, sum.long) : sum.value;
}
