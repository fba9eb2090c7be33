import { isNullish, nameOf, type Operator, unary } from '../operator.js';
import { failureAt } from '../../errors.js';

/** The first or the last element of an array. */
export function arrayEnd(name: string, index: 0 | -1): Operator {
  return unary((value) => {
    if (isNullish(value)) return null;
    if (!Array.isArray(value)) {
      throw failureAt(28689, `${name}'s argument must be an array, but is ${nameOf(value)}`);
    }
    return value.at(index);
  });
}
