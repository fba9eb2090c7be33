import { namedArguments } from '../../aggregate/values/named-arguments.js';
import { eachElement, loop } from '../../aggregate/values/variables.js';
import { isTruthy } from '../../bson/truth.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$filter', {
  compile(argument, compile) {
    const options = namedArguments('$filter', argument, 28646, { input: 28648, cond: 28650 }, ['as'], 28647);
    const { input, name, body } = loop(options, 'cond', compile);
    return (scope) =>
      eachElement(scope, input, name, 28651, '$filter', (element, value) =>
        isTruthy(body(element)) ? [value] : [],
      );
  },
});
