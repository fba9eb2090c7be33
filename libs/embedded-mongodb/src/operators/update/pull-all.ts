import { valuesEqual } from '../../bson/compare.js';
import { type BsonValue, typeName } from '../../bson/types.js';
import { badValue } from '../../errors.js';
import type { Modifier } from '../../update/modifier.js';
import { removal } from '../../update/removal.js';
import { updates } from '../../update/operator.js';

updates.define('$pullAll', { modifier: (_path, argument) => pullAll(argument) });

/** `$pullAll`: removes every element equal to one of the values. */
function pullAll(argument: BsonValue): Modifier {
  if (!Array.isArray(argument)) {
    throw badValue(`$pullAll requires an array argument but was given a ${typeName(argument)}`);
  }
  return removal('$pullAll', (element) => argument.some((each) => valuesEqual(each, element)));
}
