import { expressions, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { asText } from '../../aggregate/values/strings.js';
import { toDouble } from '../../bson/numbers.js';
import { isNumber, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define(
  '$substrCP',
  variadic(([value, start, length]) => substring(value, start, length), { least: 3, most: 3 }),
);

function substring(value: Result, start: Result, length: Result): string {
  const characters = [...asText(value)];
  const [from, count] = [start, length].map((each, index) => {
    const name = index === 0 ? 'starting index' : 'length';
    if (!isNumber(each)) {
      throw failureAt(
        index === 0 ? 34450 : 34452,
        `$substrCP: ${name} must be a numeric type (is BSON type ${each === undefined ? 'missing' : typeName(each)})`,
      );
    }
    const number = toDouble(each);
    if (!Number.isInteger(number) || Math.abs(number) > 0x7fffffff) {
      throw failureAt(
        index === 0 ? 34451 : 34453,
        `$substrCP: ${name} cannot be represented as a 32-bit integral value`,
      );
    }
    if (number < 0) {
      throw failureAt(index === 0 ? 34455 : 34454, `$substrCP: ${name} must be a nonnegative integer.`);
    }
    return number;
  });
  return characters.slice(from, (from ?? 0) + (count ?? 0)).join('');
}
