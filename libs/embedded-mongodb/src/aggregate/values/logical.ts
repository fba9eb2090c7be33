import { isTruthy } from '../../bson/truth.js';
import { unsupported } from '../../errors.js';
import type { SpecialOperator } from '../operator.js';
import { listOf } from './list-of.js';

/**
 * `$and`, which false decides, and `$or`, which true decides. A constant would decide before any operand can
 * fail.
 */
export function logicalOperator(name: '$and' | '$or', decisive: boolean): SpecialOperator {
  return {
    compile(argument, compile) {
      const operands = listOf(argument).map((each) => compile(each));
      if (operands.length === 0 || operands.some((each) => each.constant))
        throw unsupported(`The expression ${name} of nothing or of a constant`);
      return (document) => operands.some((each) => isTruthy(each(document)) === decisive) === decisive;
    },
  };
}
