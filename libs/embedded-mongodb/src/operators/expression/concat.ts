import { expressions, isNullish, nameOf, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { failureAt } from '../../errors.js';

/** Maximum length of the resulting string. Unit: bytes. */
const maxBytes = 16 * 1024 * 1024;

expressions.define('$concat', variadic(concat));

function concat(operands: Iterable<Result>): Result {
  let result = '';
  for (const each of operands) {
    if (isNullish(each)) return null;
    if (typeof each !== 'string')
      throw failureAt(16702, `$concat only supports strings, not ${nameOf(each)}`);
    result += each;
  }
  if (Buffer.byteLength(result) <= maxBytes) return result;
  throw failureAt(16493, 'Tried to create string longer than 16MB');
}
