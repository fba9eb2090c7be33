import { type Accumulator, accumulators } from '../../aggregate/accumulator.js';
import type { Result } from '../../aggregate/scope.js';
import type { BsonValue } from '../../bson/types.js';

accumulators.define('$last', { create: () => new Last() });

class Last implements Accumulator {
  private value: BsonValue = null;

  add(value: Result): void {
    this.value = value ?? null;
  }

  result(): BsonValue {
    return this.value;
  }
}
