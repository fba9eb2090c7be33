import { describeField } from '../../bson/describe.js';
import { wholeNumber } from '../../bson/numbers.js';
import { type BsonValue, typeName } from '../../bson/types.js';
import { failure, typeMismatch } from '../../errors.js';
import { keep, type Modifier } from '../../update/modifier.js';
import { updates } from '../../update/operator.js';

updates.define('$pop', { modifier: pop });

/** `$pop`: 1 removes the last element, -1 the first. */
function pop(path: string, argument: BsonValue): Modifier {
  const end = wholeNumber(argument);
  if (end !== 1 && end !== -1)
    throw failure('FailedToParse', `$pop expects 1 or -1, found: ${describeField(path, argument)}`);
  return {
    missing: 'check',
    change(current) {
      if (!Array.isArray(current)) {
        throw typeMismatch(
          `Path '${path}' contains an element of non-array type '${current === undefined ? 'missing' : typeName(current)}'`,
        );
      }
      if (current.length === 0) return keep;
      return end === 1 ? current.slice(0, -1) : current.slice(1);
    },
  };
}
