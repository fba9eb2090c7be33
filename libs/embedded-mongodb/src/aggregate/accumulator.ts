import type { BsonValue } from '../bson/types.js';
import { Registry } from '../registry.js';
import type { Result } from './scope.js';

/** Gathers the values of one field of one group. */
export interface Accumulator {
  /** Set once no further value would change the result; then no more are computed. */
  readonly settled?: boolean;
  add(value: Result): void;
  result(): BsonValue;
}

/** An accumulator by its name in `$group`. */
export interface AccumulatorOperator {
  /** Starts a group. */
  create(): Accumulator;
  /** Reads an argument that is not an expression, and returns the expression to use instead. */
  operand?(argument: BsonValue): BsonValue;
}

/** `{ $sum: 1 }` in a `$group`. */
export const accumulators = new Registry<AccumulatorOperator>('The accumulator');
