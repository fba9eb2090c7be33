import { expressions, wrongArity } from '../../aggregate/operator.js';
import type { Expression } from '../../aggregate/scope.js';
import { listOf } from '../../aggregate/values/list-of.js';
import { isTruthy } from '../../bson/truth.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt, unsupported } from '../../errors.js';

/** The names of the parts, and the error if one is missing. */
const parts = Object.entries({ if: 17080, then: 17081, else: 17082 });

expressions.define('$cond', {
  compile(argument, compile) {
    const given = isDocument(argument) ? namedParts(argument) : listOf(argument);
    if (given.length !== parts.length) throw wrongArity('$cond', parts.length, given.length);
    const [test, then, otherwise] = given.map(compile) as [Expression, Expression, Expression];
    if (test.constant) throw unsupported('A constant condition of $cond');
    return (document) => (isTruthy(test(document)) ? then(document) : otherwise(document));
  },
});

function namedParts(given: ReadonlyMap<string, BsonValue>): BsonValue[] {
  const unknown = [...given.keys()].find((name) => !parts.some(([known]) => known === name));
  if (unknown !== undefined) throw failureAt(17083, `Unrecognized parameter to $cond: ${unknown}`);
  return parts.map(([name, code]) => {
    const part = given.get(name);
    if (part === undefined) throw failureAt(code, `Missing '${name}' parameter to $cond`);
    return part;
  });
}
