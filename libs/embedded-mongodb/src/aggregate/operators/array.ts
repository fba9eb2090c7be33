import { Int32 } from 'bson';
import { compareValues, valuesEqual } from '../../bson/compare.js';
import { toDouble } from '../../bson/numbers.js';
import { type BsonArray, type BsonValue, isNumber, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { isTruthy } from '../../query/operators.js';
import type { Result } from '../scope.js';
import { binary, isNullish, nullable, type Operator, unary, variadic } from './operator.js';

export const arrayOperators: Record<string, Operator> = {
  $size: unary((value) => {
    if (Array.isArray(value)) return new Int32(value.length);
    throw failureAt(17124, `The argument to $size must be an array, but was of type: ${nameOf(value)}`);
  }),
  $isArray: unary((value) => Array.isArray(value)),
  $arrayElemAt: nullable(binary(elementAt)),
  $first: unary((value) => endOf('$first', value, 0)),
  $last: unary((value) => endOf('$last', value, -1)),
  $in: binary((value, array) => {
    if (!Array.isArray(array)) {
      throw failureAt(40081, `$in requires an array as a second argument, found: ${nameOf(array)}`);
    }
    return array.some((each) => value !== undefined && valuesEqual(each, value));
  }),
  $concatArrays: variadic(
    (operands) => {
      const result: BsonArray = [];
      for (const each of operands) {
        if (isNullish(each)) return null;
        if (!Array.isArray(each))
          throw failureAt(28664, `$concatArrays only supports arrays, not ${nameOf(each)}`);
        result.push(...each);
      }
      return result;
    },
    { folds: 'adjacent' },
  ),
  $reverseArray: nullable(
    unary((value) => {
      if (Array.isArray(value)) return [...value].reverse();
      throw failureAt(
        34435,
        `The argument to $reverseArray must be an array, but was of type: ${nameOf(value)}`,
      );
    }),
  ),
  $slice: variadic(slice, { least: 2, most: 3 }),
  $setUnion: variadic(union, { folds: 'all' }),
  $setIntersection: variadic(intersection, { folds: 'all' }),
  $setDifference: nullable(binary(difference)),
  $anyElementTrue: unary((value) => set('$anyElementTrue', value, 17041).some(isTruthy)),
  $allElementsTrue: unary((value) => set('$allElementsTrue', value, 17040).every(isTruthy)),
};

/** In ascending order and each value once, as MongoDB gives sets. */
function distinct(values: BsonArray): BsonArray {
  const sorted = [...values].sort(compareValues);
  return sorted.filter((each, index) => index === 0 || !valuesEqual(each, sorted[index - 1] as BsonValue));
}

function set(operator: string, value: Result, code: number): BsonArray {
  if (Array.isArray(value)) return value;
  throw failureAt(
    code,
    `All operands of ${operator} must be arrays. One argument is of type: ${nameOf(value)}`,
  );
}

function union(operands: Iterable<Result>): Result {
  const result: BsonArray = [];
  for (const each of operands) {
    if (isNullish(each)) return null;
    result.push(...set('$setUnion', each, 17043));
  }
  return distinct(result);
}

function intersection(operands: Iterable<Result>): Result {
  let result: BsonArray | undefined;
  for (const each of operands) {
    if (isNullish(each)) return null;
    const values = distinct(set('$setIntersection', each, 17047));
    // Of two equal numbers that of the smaller set stays.
    const [kept, other] = result && result.length <= values.length ? [result, values] : [values, result];
    result = other ? kept.filter((value) => other.some((one) => valuesEqual(one, value))) : kept;
    // Nothing is left that the rest could take away.
    if (result.length === 0) break;
  }
  return result ?? [];
}

function difference(a: Result, b: Result): Result {
  const [left, right] = [set('$setDifference', a, 17048), set('$setDifference', b, 17049)];
  const result: BsonArray = [];
  for (const value of left) {
    if (![...right, ...result].some((other) => valuesEqual(other, value))) result.push(value);
  }
  return result;
}

function elementAt(array: Result, position: Result): Result {
  if (!Array.isArray(array)) {
    throw failureAt(28689, `$arrayElemAt's first argument must be an array, but is ${nameOf(array)}`);
  }
  if (!isNumber(position)) {
    throw failureAt(
      28690,
      `$arrayElemAt's second argument must be a numeric value, but is ${nameOf(position)}`,
    );
  }
  const index = toDouble(position);
  if (!Number.isInteger(index) || Math.abs(index) > 0x7fffffff) {
    throw failureAt(
      28691,
      `$arrayElemAt's second argument must be representable as a 32-bit integer: ${index}`,
    );
  }
  return array.at(index);
}

function endOf(operator: string, value: Result, index: 0 | -1): Result {
  if (isNullish(value)) return null;
  if (!Array.isArray(value)) {
    throw failureAt(28689, `${operator}'s argument must be an array, but is ${nameOf(value)}`);
  }
  return value.at(index);
}

function slice(operands: Iterable<Result>): Result {
  const [array, first, ...others] = operands;
  if (isNullish(array) || isNullish(first)) return null;
  if (!Array.isArray(array)) {
    throw failureAt(28724, `First argument to $slice must be an array, but is of type: ${nameOf(array)}`);
  }
  const start = wholeNumber(first, 28725, 28726, 'Second');
  if (others.length === 0) return start >= 0 ? array.slice(0, start) : array.slice(start);
  const [second] = others;
  if (isNullish(second)) return null;
  const count = wholeNumber(second, 28727, 28728, 'Third');
  if (count <= 0) throw failureAt(28729, `Third argument to $slice must be positive: ${count}`);
  const from = start < 0 ? Math.max(0, array.length + start) : start;
  return array.slice(from, from + count);
}

function wholeNumber(value: Result, typeCode: number, rangeCode: number, which: string): number {
  if (!isNumber(value))
    throw failureAt(
      typeCode,
      `${which} argument to $slice must be numeric, but is of type: ${nameOf(value)}`,
    );
  const number = toDouble(value);
  if (!Number.isInteger(number) || Math.abs(number) > 0x7fffffff) {
    throw failureAt(
      rangeCode,
      `${which} argument to $slice can't be represented as a 32-bit integer: ${number}`,
    );
  }
  return number;
}

function nameOf(value: Result): string {
  return value === undefined ? 'missing' : typeName(value);
}
