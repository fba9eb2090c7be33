import { expressions, isNullish } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { namedArguments } from '../../aggregate/values/named-arguments.js';
import { withVariables } from '../../aggregate/values/variables.js';
import { type BsonValue, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

expressions.define('$reduce', {
  compile(argument, compile) {
    const options = namedArguments(
      '$reduce',
      argument,
      40075,
      { input: 40077, initialValue: 40078, in: 40079 },
      [],
      40076,
    );
    const [input, initial] = ['input', 'initialValue'].map((name) => compile(options.get(name) as BsonValue));
    const body = compile(options.get('in') as BsonValue, ['value', 'this']);
    return (scope) => {
      const array = input?.(scope);
      if (isNullish(array)) return null;
      if (!Array.isArray(array))
        throw failureAt(40080, `$reduce requires that 'input' be an array, found: ${typeName(array)}`);
      return array.reduce<Result>(
        (value, element) =>
          body?.(
            withVariables(scope, [
              ['value', value],
              ['this', element],
            ]),
          ),
        initial?.(scope),
      );
    };
  },
});
