import type { BsonDocument, BsonValue } from '../../bson/types.js';
import { isTruthy } from '../../bson/truth.js';
import type { Compile, SpecialOperator } from '../operator.js';
import { constant, type Expression, fold } from '../scope.js';
import { listOf } from './list-of.js';

/** `$and`, where false is decisive, and `$or`, where true is. */
export function logicalOperator(decisive: boolean): SpecialOperator {
  return { compile: (argument, compile) => logical(argument, compile, decisive) };
}

/** Operands of which one that is `decisive` decides; where a constant is, the others are never evaluated, as in MongoDB. */
function logical(argument: BsonValue, compile: Compile, decisive: boolean): Expression {
  const operands = listOf(argument).map((each) => compile(each));
  const decides = (each: Expression, document: BsonDocument): boolean =>
    isTruthy(each(document)) === decisive;
  if (operands.some((each) => each.constant && decides(each, new Map()))) return constant(decisive);
  return fold(operands, (document) => operands.some((each) => decides(each, document)) === decisive);
}
