import { type Accumulator, accumulators } from '../../aggregate/accumulator.js';
import type { Result } from '../../aggregate/scope.js';
import { NumberSum } from '../../aggregate/sum.js';
import { type BsonValue, isNumber } from '../../bson/types.js';

accumulators.define('$avg', { create: () => new Average() });

class Average implements Accumulator {
  private readonly sum = new NumberSum();
  private count = 0;

  add(value: Result): void {
    if (!isNumber(value)) return;
    this.sum.add(value);
    this.count++;
  }

  result(): BsonValue {
    return this.count === 0 ? null : this.sum.average(this.count);
  }
}
