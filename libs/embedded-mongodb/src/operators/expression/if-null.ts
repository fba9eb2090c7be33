import { expressions, isNullish } from '../../aggregate/operator.js';
import { type Expression, valueOf } from '../../aggregate/scope.js';
import { listOf } from '../../aggregate/values/list-of.js';
import { failureAt } from '../../errors.js';

expressions.define('$ifNull', {
  compile(argument, compile) {
    const operands = listOf(argument).map(compile);
    if (operands.length < 2) {
      throw failureAt(1257300, `$ifNull needs at least two arguments, had: ${operands.length}`);
    }
    const last = operands.pop() as Expression;
    // Beforehand MongoDB leaves out what is null in any case, and stops at what is a value in any case.
    const open = operands.filter((each) => !each.constant || !isNullish(valueOf(each)));
    const [first = last] = open;
    if (first.constant || first === last) return first;
    return (document) => {
      for (const operand of open) {
        const value = operand(document);
        if (!isNullish(value)) return value;
      }
      return last(document);
    };
  },
});
