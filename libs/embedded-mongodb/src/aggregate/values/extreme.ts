import { compareValues } from '../../bson/compare.js';
import type { BsonValue } from '../../bson/types.js';
import type { Accumulator } from '../accumulator.js';
import { isNullish } from '../operator.js';
import type { Result } from '../scope.js';

/** The least or greatest value by the order across all types; null and missing ones do not count. */
export class Extreme implements Accumulator {
  private best: BsonValue | undefined;

  constructor(private readonly direction: 1 | -1) {}

  add(value: Result): void {
    if (value === undefined || isNullish(value)) return;
    if (this.best === undefined || compareValues(value, this.best) * this.direction > 0) this.best = value;
  }

  result(): BsonValue {
    return this.best ?? null;
  }
}
