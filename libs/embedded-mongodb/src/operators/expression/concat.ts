import { expressions, isNullish, variadic } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { text } from '../../aggregate/values/strings.js';
import { failureAt } from '../../errors.js';

/** Longest string that may be put together. Unit: bytes. */
const maxBytes = 16 * 1024 * 1024;

expressions.define('$concat', variadic(concat, { folds: 'adjacent' }));

function concat(operands: Iterable<Result>): Result {
  let result = '';
  for (const each of operands) {
    if (isNullish(each)) return null;
    result += text('$concat', each, 16702);
  }
  if (Buffer.byteLength(result) <= maxBytes) return result;
  throw failureAt(16493, 'Tried to create string longer than 16MB');
}
