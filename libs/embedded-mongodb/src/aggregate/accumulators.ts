import { Int32 } from 'bson';
import { compareValues } from '../bson/compare.js';
import { type BsonArray, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { failure, failureAt, unsupported } from '../errors.js';
import { compileExpression } from './expression.js';
import type { Accumulator } from './group.js';
import { groupKey } from './group-key.js';
import { isNullish } from './operator.js';
import { NumberSum } from './sum.js';
import { constant, type Expression, type Result, type Variables } from './scope.js';

const creators: Record<string, () => Accumulator> = {
  $sum: () => new Sum(),
  $avg: () => new Average(),
  $min: () => new Extreme(-1),
  $max: () => new Extreme(1),
  $first: () => new First(),
  $last: () => new Last(),
  $push: () => new Push(),
  $addToSet: () => new AddToSet(),
};

/** Accumulators of real MongoDB that this server lacks. */
const refused = new Set(
  (
    '$accumulator $bottom $bottomN $firstN $lastN $maxN $median $mergeObjects $minN $percentile $stdDevPop $stdDevSamp ' +
    '$top $topN'
  ).split(' '),
);

/** Reads an accumulator of `$group`. */
export function accumulators(
  operator: string,
  argument: BsonValue,
  variables: Variables,
): { operand: Expression; create: () => Accumulator } {
  if (operator === '$count') {
    if (!isDocument(argument) || argument.size > 0) {
      throw failure('TypeMismatch', '$count takes no arguments, i.e. $count:{}');
    }
    return { operand: constant(new Int32(1)), create: () => new Sum() };
  }
  const create = Object.hasOwn(creators, operator) ? creators[operator] : undefined;
  if (!create) {
    if (refused.has(operator)) throw unsupported(`The accumulator ${operator}`);
    throw failureAt(15952, `unknown group operator '${operator}'`);
  }
  if (Array.isArray(argument)) throw failureAt(40237, `The ${operator} accumulator is a unary operator`);
  return { operand: compileExpression(argument, variables), create };
}

/** Values that are no number do not count. */
class Sum implements Accumulator {
  private readonly sum = new NumberSum();

  add(value: Result): void {
    if (isNumber(value)) this.sum.add(value);
  }

  result(): BsonValue {
    return this.sum.value();
  }
}

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

/** The least or greatest value by the order across all types; null and missing ones do not count. */
class Extreme implements Accumulator {
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

class Last implements Accumulator {
  private value: BsonValue = null;

  add(value: Result): void {
    this.value = value ?? null;
  }

  result(): BsonValue {
    return this.value;
  }
}

class Push implements Accumulator {
  private readonly values: BsonArray = [];

  add(value: Result): void {
    if (value !== undefined) this.values.push(value);
  }

  result(): BsonValue {
    return this.values;
  }
}

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
