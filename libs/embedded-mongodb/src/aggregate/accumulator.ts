import type { BsonValue } from '../bson/types.js';
import { Registry } from '../registry.js';
import type { Result } from './scope.js';

/** What gathers the values of one field of one group. */
export interface Accumulator {
  /** Set when no further value would change the result; then none is computed. */
  readonly settled?: boolean;
  add(value: Result): void;
  result(): BsonValue;
}

/** An accumulator by its name in `$group`. */
export interface AccumulatorOperator {
  /** Starts a group. */
  create(): Accumulator;
  /** Reads the argument where it is not an expression; gives the expression in its place. */
  operand?(argument: BsonValue): BsonValue;
}

/** `{ $sum: 1 }` in a `$group`. */
export const accumulators = new Registry<AccumulatorOperator>('The accumulator');
