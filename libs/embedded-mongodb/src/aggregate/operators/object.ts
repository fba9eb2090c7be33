import { type BsonDocument, isDocument, isNumber, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { isNullish, type Operator, unary, variadic } from './operator.js';

export const objectOperators: Record<string, Operator> = {
  $mergeObjects: variadic((operands) => {
    const result: BsonDocument = new Map();
    for (const operand of operands) {
      if (isNullish(operand)) continue;
      if (!isDocument(operand)) {
        throw failureAt(
          40400,
          `$mergeObjects requires object inputs, but input is of type ${typeName(operand)}`,
        );
      }
      for (const [name, value] of operand) result.set(name, value);
    }
    return result;
  }),
  $type: unary((value) => (value === undefined ? 'missing' : typeName(value))),
  $isNumber: unary((value) => isNumber(value)),
};
