import { Decimal128, Double } from 'bson';
import { fromDecimal128, toDecimal128, wholeDecimal } from '../../bson/decimal.js';
import type { BsonNumber, BsonValue } from '../../bson/types.js';

/** The next whole number in a direction, in the number's own type. */
export function wholeNumber(value: BsonNumber, direction: 'up' | 'down'): BsonValue {
  if (value instanceof Double) {
    return new Double(direction === 'up' ? Math.ceil(value.value) : Math.floor(value.value));
  }
  return value instanceof Decimal128 ? toDecimal128(wholeDecimal(fromDecimal128(value), direction)) : value;
}
