import { expressions, isNullish } from '../../aggregate/operator.js';
import type { Expression } from '../../aggregate/scope.js';
import { listOf } from '../../aggregate/values/list-of.js';
import { failureAt, unsupported } from '../../errors.js';

expressions.define('$ifNull', {
  compile(argument, compile) {
    const operands = listOf(argument).map(compile);
    if (operands.length < 2) {
      throw failureAt(1257300, `$ifNull needs at least two arguments, had: ${operands.length}`);
    }
    const last = operands.pop() as Expression;
    if (operands.some((each) => each.constant))
      throw unsupported('A constant before the last one of $ifNull');
    return (document) => {
      for (const operand of operands) {
        const value = operand(document);
        if (!isNullish(value)) return value;
      }
      return last(document);
    };
  },
});
