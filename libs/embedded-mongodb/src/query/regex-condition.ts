import { BSONRegExp } from 'bson';
import { valuesEqual } from '../bson/compare.js';
import { condition, type Condition } from './condition.js';
import { prefixIntervals } from './intervals.js';
import type { Test } from './path.js';
import { compileRegex } from './regex.js';

/**
 * `$regex`, and the plain `{ field: /pattern/ }`: strings that it matches, and the same expression stored as
 * a value.
 */
export function regex(expression: BSONRegExp): Condition {
  const { test, prefix } = regexTest(expression);
  return condition(test, { intervals: prefixIntervals(prefix), includesMissing: false, exact: false });
}

/** Whether a value is a string with a match, or the same expression. */
export function regexTest(expression: BSONRegExp): { test: Test; prefix: string } {
  const { test, prefix } = compileRegex(expression);
  return {
    prefix,
    test: (value) => {
      if (typeof value === 'string') return test(value);
      return value instanceof BSONRegExp && valuesEqual(value, expression);
    },
  };
}
