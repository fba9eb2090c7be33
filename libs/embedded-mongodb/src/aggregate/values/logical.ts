import type { BsonValue } from '../../bson/types.js';
import { isTruthy } from '../../bson/truth.js';
import type { Compile, SpecialOperator } from '../operator.js';
import { constant, type Expression, fold, type Scope, scopeOf } from '../scope.js';
import { listOf } from './named-arguments.js';

/** `$and`, where false is decisive, and `$or`, where true is. */
export function logicalOperator(decisive: boolean): SpecialOperator {
  return { compile: (argument, compile) => logical(argument, compile, decisive) };
}

/** Operands of which one that is `decisive` decides; where a constant is, the others are never evaluated, as in MongoDB. */
function logical(argument: BsonValue, compile: Compile, decisive: boolean): Expression {
  const operands = listOf(argument).map((each) => compile(each));
  const decides = (each: Expression, scope: Scope): boolean => isTruthy(each(scope)) === decisive;
  if (operands.some((each) => each.constant && decides(each, scopeOf(new Map())))) return constant(decisive);
  return fold(operands, (scope) => operands.some((each) => decides(each, scope)) === decisive);
}
