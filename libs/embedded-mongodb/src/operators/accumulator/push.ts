import { type Accumulator, accumulators } from '../../aggregate/accumulator.js';
import type { Result } from '../../aggregate/scope.js';
import type { BsonArray, BsonValue } from '../../bson/types.js';

accumulators.define('$push', { create: () => new Push() });

class Push implements Accumulator {
  private readonly values: BsonArray = [];

  add(value: Result): void {
    if (value !== undefined) this.values.push(value);
  }

  result(): BsonValue {
    return this.values;
  }
}
