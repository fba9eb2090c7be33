import { Int32, Long } from 'bson';
import { valuesEqual } from '../bson/compare.js';
import { describe, describeField } from '../bson/describe.js';
import { add, multiply, plainNumber, toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonNumber, type BsonValue, isNumber, typeName } from '../bson/types.js';
import { badValue, typeMismatch } from '../errors.js';
import { describeId, keep, lastName, type Modifier } from './modifier.js';

/** `$inc` and `$mul`; a missing field counts as zero. */
export function arithmetic(operator: '$inc' | '$mul', path: string, operand: BsonValue): Modifier {
  const verb = operator === '$inc' ? 'increment' : 'multiply';
  if (!isNumber(operand)) {
    throw typeMismatch(`Cannot ${verb} with non-numeric argument: {${describeField(path, operand)}}`);
  }
  const combine = operator === '$inc' ? add : multiply;
  return {
    missing: 'create',
    change(current, { document }) {
      if (current === undefined)
        return operator === '$inc' ? operand : (multiply(new Int32(0), plainNumber(operand)) ?? keep);
      if (!isNumber(current)) {
        throw typeMismatch(
          `Cannot apply ${operator} to a value of non-numeric type. ${describeId(document)} has the field '${lastName(path)}' of non-numeric type ${typeName(current)}`,
        );
      }
      const result = combine(plainNumber(current), plainNumber(operand));
      if (!result) throw overflow(operator, current, document);
      // NaN equals nothing here, not even itself: in MongoDB it counts as a change.
      if (Number.isNaN(toDouble(result))) return result;
      return typeName(current) === typeName(result) && valuesEqual(current, result) ? keep : result;
    },
  };
}

function overflow(operator: string, current: BsonNumber, document: BsonDocument): Error {
  const type = current instanceof Long ? 'NumberLong' : 'NumberInt';
  return badValue(
    `Failed to apply ${operator} operations to current value ((${type})${describe(current)}) for document ${describeId(document)}`,
  );
}
