import type { Result } from '../../aggregate/scope.js';
import { namedArguments } from '../../aggregate/values/named-arguments.js';
import { checkedName, withVariables } from '../../aggregate/values/variables.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { failure } from '../../errors.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$let', {
  compile(argument, compile) {
    const options = namedArguments('$let', argument, 16874, { vars: 16876, in: 16877 }, [], 16875);
    const variables = options.get('vars');
    if (!isDocument(variables)) {
      throw failure('FailedToParse', `invalid parameter: expected an object (vars)`);
    }
    const compiled = Array.from(variables, ([name, value]) => ({
      name: checkedName(name),
      value: compile(value),
    }));
    const body = compile(
      options.get('in') as BsonValue,
      compiled.map(({ name }) => name),
    );
    return (scope) => {
      const bound = compiled.map(({ name, value }): [string, Result] => [name, value(scope)]);
      return body(withVariables(scope, bound));
    };
  },
});
