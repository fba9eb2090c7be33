import { BSONRegExp, BSONSymbol } from 'bson';
import { compareValues, typeRank, valuesEqual } from '../bson/compare.js';
import { isNaNValue, toDouble, truncate } from '../bson/numbers.js';
import { isTruthy } from '../bson/truth.js';
import {
  BsonUndefined,
  type BsonDocument,
  type BsonValue,
  isDocument,
  isNumber,
  typeName,
} from '../bson/types.js';
import { failure } from '../errors.js';
import { condition, type Condition, conjunction, nothing, wholeCondition } from './condition.js';
import { everything, pointIntervals, prefixIntervals, rangeIntervals, setIntervals } from './intervals.js';
import type { Test } from './path.js';
import { compileRegex } from './regex.js';
import { isOfType, parseTypeSet } from './type-set.js';

type RangeOperator = '$gt' | '$gte' | '$lt' | '$lte';

/** `$eq`, and the plain `{ field: value }`. */
export function equality(value: BsonValue): Condition {
  return condition(equalTo(value), {
    intervals: pointIntervals(value),
    includesMissing: value === null,
    exact: !Array.isArray(value),
  });
}

/** `$gt`, `$gte`, `$lt`, `$lte`: within the bound's own type, save for MinKey and MaxKey. */
export function range(operator: RangeOperator, bound: BsonValue): Condition {
  const intervals = rangeIntervals(operator, bound);
  const includesMissing = bound === null && intervals?.length !== 0;
  return condition(inRange(operator, bound), intervals && { intervals, includesMissing, exact: true });
}

/** `$in`: one of the values, or a string that one of the regular expressions finds something in. */
export function membership(operator: '$in' | '$nin', argument: BsonValue): Condition {
  if (!Array.isArray(argument)) throw failure('BadValue', `${operator} needs an array`);
  for (const each of argument) {
    if (isDocument(each) && [...each.keys()][0]?.startsWith('$') && !isReference(each)) {
      throw failure('BadValue', `cannot nest $ under ${operator}`);
    }
    if (each instanceof BsonUndefined)
      throw failure('BadValue', 'InMatchExpression equality cannot be undefined');
  }
  const tests = argument.map(
    (each) => (each instanceof BSONRegExp ? regexTest(each).test : undefined) ?? equalTo(each),
  );
  const bounded = !argument.some((each) => each instanceof BSONRegExp);
  return condition(
    oneOf(argument, tests),
    bounded
      ? {
          intervals: setIntervals(argument),
          includesMissing: argument.includes(null),
          exact: !argument.some(Array.isArray),
        }
      : undefined,
  );
}

/** `$all`: every one of the values, found anywhere in the field; `parse` reads the `$elemMatch` form. */
export function all(argument: BsonValue, parse: (element: BsonDocument) => Condition): Condition {
  if (!Array.isArray(argument)) throw failure('BadValue', '$all needs an array');
  if (argument.length === 0) return nothing;
  const first = argument[0];
  const nested = isDocument(first) && first.keys().next().value === '$elemMatch';
  return conjunction(
    argument.map((each) => {
      if (nested) {
        if (!isDocument(each) || each.keys().next().value !== '$elemMatch') {
          throw failure('BadValue', '$all/$elemMatch has to be consistent');
        }
        return parse(each);
      }
      if (isDocument(each) && each.keys().next().value?.startsWith('$') && !namesReference(each)) {
        throw failure('BadValue', 'no $ expressions in $all');
      }
      return each instanceof BSONRegExp ? regex(each) : equality(each);
    }),
  );
}

/** `$regex`, and the plain `{ field: /pattern/ }`: strings it finds something in, and the same expression stored as a value. */
export function regex(expression: BSONRegExp): Condition {
  const { test, prefix } = regexTest(expression);
  return condition(test, { intervals: prefixIntervals(prefix), includesMissing: false, exact: false });
}

/** `$exists`. */
export function existence(argument: BsonValue): Condition {
  if (!isTruthy(argument)) {
    return {
      matchesAt: (document, path) => !isPresent.matchesAt(document, path),
      matchesElement: (value) => value === undefined,
    };
  }
  return isPresent;
}

const isPresent = condition((value) => value !== undefined, {
  intervals: [everything],
  includesMissing: false,
  exact: false,
});

/** `$type`. */
export function typed(argument: BsonValue): Condition {
  const types = parseTypeSet(argument);
  return condition((value) => isOfType(value, types));
}

/** `$size`. */
export function size(argument: BsonValue): Condition {
  const wanted = isNumber(argument) ? toDouble(argument) : NaN;
  if (Number.isNaN(wanted)) {
    throw failure('BadValue', `Failed to parse $size. Expected a number in: $size: ${describe(argument)}`);
  }
  if (!Number.isInteger(wanted)) {
    throw failure('BadValue', `Failed to parse $size. Expected an integer: $size: ${wanted}`);
  }
  if (Math.abs(wanted) > 0x7fffffff) {
    throw failure('BadValue', `Failed to parse $size. Cannot represent in an int: $size: ${wanted}`);
  }
  if (wanted < 0)
    throw failure('BadValue', `Failed to parse $size. Expected a non-negative number in: $size: ${wanted}`);
  return wholeCondition((value) => Array.isArray(value) && value.length === wanted);
}

/** `$mod`: the remainder of a division by a whole number. */
export function modulo(argument: BsonValue): Condition {
  if (!Array.isArray(argument)) throw failure('BadValue', 'malformed mod, needs to be an array');
  if (argument.length < 2) throw failure('BadValue', 'malformed mod, not enough elements');
  if (argument.length > 2) throw failure('BadValue', 'malformed mod, too many elements');
  const [divisor, remainder] = argument.map((each, index) => {
    const name = index === 0 ? 'divisor' : 'remainder';
    const whole = isNumber(each) ? truncate(each) : undefined;
    if (whole === undefined) throw failure('BadValue', `malformed mod, ${name} not a number`);
    return whole;
  });
  if (!divisor) throw failure('BadValue', 'divisor cannot be 0');
  return condition((value) => {
    const whole = isNumber(value) ? truncate(value) : undefined;
    return whole !== undefined && whole % divisor === remainder;
  });
}

/** `{ $ref, $id }` looks like an operator but is a value. */
export function isReference(document: BsonDocument): boolean {
  return document.has('$ref') && document.has('$id');
}

/** Whether a document names a field of a reference, so that its other names are fields too. */
export function namesReference(document: BsonDocument): boolean {
  return ['$ref', '$id', '$db'].some((name) => document.has(name));
}

function equalTo(value: BsonValue): Test {
  if (value === null) return (each) => each === undefined || each === null || each instanceof BsonUndefined;
  if (typeof value === 'string')
    return (each) => each === value || (each instanceof BSONSymbol && each.value === value);
  return (each) => each !== undefined && valuesEqual(each, value);
}

function inRange(operator: RangeOperator, bound: BsonValue): Test {
  const wantsGreater = operator === '$gt' || operator === '$gte';
  const allowsEqual = operator === '$gte' || operator === '$lte';
  if (bound === null) return allowsEqual ? equalTo(null) : () => false;
  const type = typeName(bound);
  if (type === 'minKey' || type === 'maxKey') {
    const beyond = (type === 'minKey') === wantsGreater;
    return (value) => (value !== undefined && typeName(value) === type ? allowsEqual : beyond);
  }
  const rank = typeRank(bound);
  const nanBound = isNaNValue(bound);
  return (value) => {
    if (value === undefined || typeRank(value) !== rank) return false;
    // NaN equals itself and is neither below nor above anything.
    if (nanBound || isNaNValue(value)) return allowsEqual && nanBound && isNaNValue(value);
    const order = compareValues(value, bound);
    return order === 0 ? allowsEqual : order > 0 === wantsGreater;
  };
}

/** Many strings or ids are common in `$in`; those are found by one look-up. */
function oneOf(values: readonly BsonValue[], tests: readonly Test[]): Test {
  if (values.length > 8 && values.every((each) => typeof each === 'string')) {
    const known = new Set<BsonValue | undefined>(values);
    return (value) => known.has(value instanceof BSONSymbol ? value.value : value);
  }
  return (value) => tests.some((test) => test(value));
}

function regexTest(expression: BSONRegExp): { test: Test; prefix: string } {
  const { test, prefix } = compileRegex(expression);
  return {
    prefix,
    test: (value) => {
      if (typeof value === 'string') return test(value);
      if (value instanceof BSONSymbol) return test(value.value);
      return value instanceof BSONRegExp && valuesEqual(value, expression);
    },
  };
}

function describe(value: BsonValue): string {
  return typeof value === 'string' ? JSON.stringify(value) : typeName(value);
}
