import { Decimal128, Double, Int32, Long } from 'bson';
import { expressions, nullable, unary } from '../../aggregate/operator.js';
import { negated, numeric } from '../../aggregate/values/numbers.js';
import { fromDecimal128, toDecimal128 } from '../../bson/decimal.js';
import { add, toDouble } from '../../bson/numbers.js';
import type { BsonNumber, BsonValue } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define('$abs', nullable(unary((value) => absolute(numeric('$abs', value)))));

function absolute(value: BsonNumber): BsonValue {
  if (value instanceof Double) return new Double(Math.abs(value.value));
  if (value instanceof Decimal128) {
    const parts = fromDecimal128(value);
    return parts.kind === 'nan' ? value : toDecimal128({ ...parts, negative: false });
  }
  if (value instanceof Long && value.eq(Long.MIN_VALUE))
    throw failureAt(28680, `can't take $abs of long long min`);
  return toDouble(value) < 0 ? negated(value) : (add(value, new Int32(0), 'double') as BsonNumber);
}
