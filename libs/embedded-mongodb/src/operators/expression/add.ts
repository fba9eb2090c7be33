import { Decimal128, Double, Long } from 'bson';
import { expressions, isNullish, nameOf, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { dateFromMillis, millisInRange, wholeMillis } from '../../aggregate/values/date-arithmetic.js';
import { add, integerValue, toDouble, truncate } from '../../bson/numbers.js';
import { type BsonNumber, isNumber } from '../../bson/types.js';
import { failure, failureAt } from '../../errors.js';

expressions.define('$add', variadic(addAll, { folds: 'leading' }));

/** Adds up in the widest type met so far. From a date on, each operand is rounded to milliseconds before it is added. */
function addAll(operands: Iterable<Result>): Result {
  let sum: Total = { kind: 'whole', value: 0n, long: false };
  let isDate = false;
  for (const operand of operands) {
    if (isNullish(operand)) return null;
    if (operand instanceof Date) {
      if (isDate) throw failureAt(16612, 'only one date allowed in an $add expression');
      isDate = true;
      const millis: bigint = wholeMillis('$add', numberOf(sum)) + BigInt(operand.getTime());
      sum = { kind: 'whole', value: millisInRange('$add', millis), long: true };
    } else if (!isNumber(operand)) {
      throw failure('TypeMismatch', `$add only supports numeric or date types, not ${nameOf(operand)}`);
    } else if (isDate && sum.kind === 'whole') {
      sum = { ...sum, value: millisInRange('$add', sum.value + wholeMillis('$add', operand)) };
    } else {
      sum = plus(sum, operand);
    }
  }
  return isDate && sum.kind === 'whole' ? dateFromMillis(sum.value) : numberOf(sum);
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
