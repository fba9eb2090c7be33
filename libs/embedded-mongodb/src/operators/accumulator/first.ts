import { type Accumulator, accumulators } from '../../aggregate/accumulator.js';
import type { Result } from '../../aggregate/scope.js';
import type { BsonValue } from '../../bson/types.js';

accumulators.define('$first', { create: () => new First() });

class First implements Accumulator {
  settled = false;
  private value: BsonValue = null;

  add(value: Result): void {
    this.settled = true;
    this.value = value ?? null;
  }

  result(): BsonValue {
    return this.value;
  }
}
