import { expressions } from '../../aggregate/operator.js';
import { type Expression, valueOf } from '../../aggregate/scope.js';
import { listOf } from '../../aggregate/values/list-of.js';
import { isTruthy } from '../../bson/truth.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

/** The names of the parts, and the error for lack of each. */
const parts = Object.entries({ if: 17080, then: 17081, else: 17082 });

expressions.define('$cond', {
  compile(argument, compile) {
    const given = isDocument(argument) ? namedParts(argument) : listOf(argument);
    if (given.length !== parts.length)
      throw failureAt(16020, `Expression $cond takes exactly 3 arguments. ${given.length} were passed in.`);
    const [test, then, otherwise] = given.map(compile) as [Expression, Expression, Expression];
    if (test.constant) return isTruthy(valueOf(test)) ? then : otherwise;
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
