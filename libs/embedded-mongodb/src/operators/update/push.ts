import { wholeNumber } from '../../bson/numbers.js';
import { type BsonArray, type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { badValue, unsupported } from '../../errors.js';
import { describeId, keep, type Modifier } from '../../update/modifier.js';
import { updates } from '../../update/operator.js';

updates.define('$push', { modifier: (_path, argument) => push(argument) });

/** `$push`, with `$each`, `$position` and `$slice`. */
function push(argument: BsonValue): Modifier {
  const clauses = isDocument(argument) && argument.has('$each') ? argument : new Map([['$each', [argument]]]);
  const { added, position, slice } = parsePush(clauses);
  return {
    missing: 'create',
    change(current, { document, path }) {
      if (current !== undefined && !Array.isArray(current)) {
        throw badValue(
          `The field '${path}' must be an array but is of type ${typeName(current)} in document ${describeId(document)}`,
        );
      }
      const before = current ?? [];
      const at = position < 0 ? Math.max(0, before.length + position) : Math.min(position, before.length);
      let after: BsonArray = [...before.slice(0, at), ...added, ...before.slice(at)];
      if (slice !== undefined) after = slice < 0 ? after.slice(slice) : after.slice(0, slice);
      const untouched = added.length === 0 && after.length === before.length;
      return current && untouched ? keep : after;
    },
  };
}

interface PushClauses {
  added: BsonArray;
  position: number;
  slice?: number;
}

function parsePush(clauses: BsonDocument): PushClauses {
  const result: PushClauses = { added: [], position: Infinity };
  for (const [clause, value] of clauses) {
    switch (clause) {
      case '$each':
        if (!Array.isArray(value)) {
          throw badValue(
            `The argument to $each in $push must be an array but it was of type: ${typeName(value)}`,
          );
        }
        result.added = value;
        break;
      case '$position':
        result.position = wholeClause(clause, value);
        break;
      case '$slice':
        result.slice = wholeClause(clause, value);
        break;
      case '$sort':
        throw unsupported('The clause $sort of $push');
      default:
        throw badValue(`Unrecognized clause in $push: ${clause}`);
    }
  }
  return result;
}

function wholeClause(clause: string, value: BsonValue): number {
  const whole = wholeNumber(value);
  if (whole !== undefined) return whole;
  throw badValue(`The value for ${clause} must be an integer value but was given type: ${typeName(value)}`);
}
