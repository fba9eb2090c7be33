import { type Accumulator, accumulators } from '../../aggregate/accumulator.js';
import { groupKey } from '../../aggregate/group-key.js';
import type { Result } from '../../aggregate/scope.js';
import type { BsonValue } from '../../bson/types.js';

accumulators.define('$addToSet', { create: () => new AddToSet() });

class AddToSet implements Accumulator {
  private readonly values = new Map<string, BsonValue>();

  add(value: Result): void {
    if (value === undefined) return;
    const key = groupKey(value);
    if (!this.values.has(key)) this.values.set(key, value);
  }

  result(): BsonValue {
    return [...this.values.values()];
  }
}
