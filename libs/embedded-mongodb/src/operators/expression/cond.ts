import { type Expression, scopeOf } from '../../aggregate/scope.js';
import { listOf, namedArguments } from '../../aggregate/values/named-arguments.js';
import { isTruthy } from '../../bson/truth.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$cond', {
  compile(argument, compile) {
    const [test, then, otherwise] = condition(argument).map((each) => compile(each));
    if (test?.constant) {
      const chosen = isTruthy(test(scopeOf(new Map()))) ? then : otherwise;
      return chosen as Expression;
    }
    return (scope) => (isTruthy(test?.(scope)) ? then?.(scope) : otherwise?.(scope));
  },
});

function condition(argument: BsonValue): BsonValue[] {
  if (!isDocument(argument)) {
    const list = listOf(argument);
    if (list.length === 3) return list;
    throw failureAt(16020, `Expression $cond takes exactly 3 arguments. ${list.length} were passed in.`);
  }
  const options = namedArguments(
    '$cond',
    argument,
    16866,
    { if: 17080, then: 17081, else: 17082 },
    [],
    17083,
  );
  return ['if', 'then', 'else'].map((name) => options.get(name) as BsonValue);
}
