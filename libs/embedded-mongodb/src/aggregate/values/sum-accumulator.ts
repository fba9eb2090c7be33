import { type BsonValue, isNumber } from '../../bson/types.js';
import type { Accumulator } from '../accumulator.js';
import type { Result } from '../scope.js';
import { NumberSum } from '../sum.js';

/** Ignores values that are not numbers. */
export class Sum implements Accumulator {
  private readonly sum = new NumberSum();

  add(value: Result): void {
    if (isNumber(value)) this.sum.add(value);
  }

  result(): BsonValue {
    return this.sum.value();
  }
}
