import { valuesEqual } from '../../bson/compare.js';
import { describeDocument } from '../../bson/describe.js';
import { type BsonArray, type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { badValue, typeMismatch } from '../../errors.js';
import { keep, lastName, type Modifier } from '../../update/modifier.js';
import { updates } from '../../update/operator.js';

updates.define('$addToSet', { modifier: (_path, argument) => addToSet(argument) });

/**
 * `$addToSet`: appends values that the array lacks. Values are equal if they compare equal, documents
 * including field order.
 */
function addToSet(argument: BsonValue): Modifier {
  const added =
    isDocument(argument) && argument.keys().next().value === '$each' ? eachOf(argument) : [argument];
  return {
    missing: 'create',
    change(current, { path }) {
      if (current !== undefined && !Array.isArray(current)) {
        throw badValue(
          `Cannot apply $addToSet to non-array field. Field named '${lastName(path)}' has non-array type ${typeName(current)}`,
        );
      }
      const after = [...(current ?? [])];
      for (const value of added) {
        if (!after.some((each) => valuesEqual(each, value))) after.push(value);
      }
      return current && after.length === current.length ? keep : after;
    },
  };
}

function eachOf(argument: BsonDocument): BsonArray {
  const each = argument.get('$each') as BsonValue;
  if (!Array.isArray(each)) {
    throw typeMismatch(
      `The argument to $each in $addToSet must be an array but it was of type ${typeName(each)}`,
    );
  }
  if (argument.size > 1)
    throw badValue(`Found unexpected fields after $each in $addToSet: ${describeDocument(argument)}`);
  return each;
}
