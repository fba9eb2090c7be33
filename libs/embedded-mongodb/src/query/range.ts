import { BSONRegExp } from 'bson';
import { compareValues, typeRank } from '../bson/compare.js';
import { isNaNValue } from '../bson/numbers.js';
import { type BsonValue, typeName } from '../bson/types.js';
import { badValue } from '../errors.js';
import { condition, type Condition } from './condition.js';
import { equalTo } from './equality.js';
import { rangeIntervals } from './intervals.js';
import type { Test } from './path.js';

type RangeOperator = '$gt' | '$gte' | '$lt' | '$lte';

/** `$gt`, `$gte`, `$lt`, `$lte`: within the bound's own type, except for MinKey and MaxKey. */
export function range(operator: RangeOperator, bound: BsonValue): Condition {
  if (bound instanceof BSONRegExp) throw badValue(`Can't have RegEx as arg to predicate over field.`);
  const intervals = rangeIntervals(operator, bound);
  const includesMissing = bound === null && intervals?.length !== 0;
  return condition(inRange(operator, bound), intervals && { intervals, includesMissing, exact: true });
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
