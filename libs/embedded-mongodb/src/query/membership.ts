import { BSONRegExp, ObjectId } from 'bson';
import { type BsonValue, isDocument } from '../bson/types.js';
import { badValue } from '../errors.js';
import { condition, type Condition } from './condition.js';
import { equalTo } from './equality.js';
import { setIntervals } from './intervals.js';
import type { Test } from './path.js';
import { isReference } from './reference.js';
import { regexTest } from './regex-condition.js';

/** `$in`: one of the values, or a string that one of the regular expressions matches. */
export function membership(operator: '$in' | '$nin', argument: BsonValue): Condition {
  if (!Array.isArray(argument)) throw badValue(`${operator} needs an array`);
  for (const each of argument) {
    if (isDocument(each) && [...each.keys()][0]?.startsWith('$') && !isReference(each)) {
      throw badValue(`cannot nest $ under ${operator}`);
    }
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

/** Many strings or ids are common in `$in`; they are found with one look-up. */
function oneOf(values: readonly BsonValue[], tests: readonly Test[]): Test {
  const keys = values.length > 8 ? values.map(keyOf) : [undefined];
  if (keys.includes(undefined)) return (value) => tests.some((test) => test(value));
  const known = new Set(keys);
  return (value) => known.has(keyOf(value) ?? '');
}

/** Strings and ids have a key that equal values share. */
function keyOf(value: BsonValue | undefined): string | undefined {
  if (typeof value === 'string') return `string ${value}`;
  return value instanceof ObjectId ? `id ${value.toHexString()}` : undefined;
}
