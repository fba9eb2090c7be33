import { BSONRegExp } from 'bson';
import { valuesEqual } from '../../bson/compare.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { isTopLevelOperator } from '../../query/field.js';
import { compileElementFilter } from '../../query/filter.js';
import { namesReference } from '../../query/reference.js';
import { removal } from '../../update/removal.js';
import { updates } from '../../update/operator.js';

/** Removes the elements that match a condition or a value. */
updates.define('$pull', { modifier: (_path, argument) => removal('$pull', pullTest(argument)) });

function pullTest(argument: BsonValue): (element: BsonValue) => boolean {
  if (argument instanceof BSONRegExp) return fieldTest(argument);
  if (!isDocument(argument)) return (element) => valuesEqual(element, argument);
  const first = argument.keys().next().value ?? '';
  const isField = first === '$not' || isTopLevelOperator(first) || namesReference(argument);
  if (first.startsWith('$') && !isField) return fieldTest(argument);
  const filter = compileElementFilter(argument);
  return (element) => isDocument(element) && filter.matches(element);
}

/** Tests elements as if they were the value of a field, so the elements of a nested array also count. */
function fieldTest(condition: BsonValue): (element: BsonValue) => boolean {
  const filter = compileElementFilter(new Map([['', condition]]));
  return (element) => filter.matches(new Map([['', element]]));
}
