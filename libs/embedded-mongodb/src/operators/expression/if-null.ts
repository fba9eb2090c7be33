import { expressions, isNullish } from '../../aggregate/operator.js';
import { listOf } from '../../aggregate/values/named-arguments.js';
import { failureAt } from '../../errors.js';

expressions.define('$ifNull', {
  compile(argument, compile) {
    const operands = listOf(argument).map((each) => compile(each));
    if (operands.length < 2) {
      throw failureAt(1257300, `$ifNull needs at least two arguments, had: ${operands.length}`);
    }
    const last = operands.pop();
    return (scope) => {
      for (const operand of operands) {
        const value = operand(scope);
        if (!isNullish(value)) return value;
      }
      return last?.(scope);
    };
  },
});
