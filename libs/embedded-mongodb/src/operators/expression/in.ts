import { binary, expressions, nameOf } from '../../aggregate/operator.js';
import { valuesEqual } from '../../bson/compare.js';
import { failureAt } from '../../errors.js';

expressions.define(
  '$in',
  binary((value, array) => {
    if (!Array.isArray(array)) {
      throw failureAt(40081, `$in requires an array as a second argument, found: ${nameOf(array)}`);
    }
    return array.some((each) => value !== undefined && valuesEqual(each, value));
  }),
);
