import { namedArguments } from '../../aggregate/values/named-arguments.js';
import { eachElement, loop } from '../../aggregate/values/variables.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$map', {
  compile(argument, compile) {
    const options = namedArguments('$map', argument, 16878, { input: 16880, in: 16882 }, ['as'], 16879);
    const { input, name, body } = loop(options, 'in', compile);
    return (scope) => eachElement(scope, input, name, 16883, '$map', (element) => [body(element) ?? null]);
  },
});
