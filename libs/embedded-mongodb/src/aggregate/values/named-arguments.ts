import { type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

/** The named arguments of an operator, all of `required` present and none beyond `optional`; each lack has its code. */
export function namedArguments(
  operator: string,
  argument: BsonValue,
  typeCode: number,
  required: Record<string, number>,
  optional: string[],
  unknownCode: number,
): BsonDocument {
  if (!isDocument(argument)) {
    throw failureAt(
      typeCode,
      `${operator} only supports an object as its argument, found: ${typeName(argument)}`,
    );
  }
  for (const name of argument.keys()) {
    if (!(name in required) && !optional.includes(name)) {
      throw failureAt(unknownCode, `Unrecognized parameter to ${operator}: ${name}`);
    }
  }
  for (const [name, code] of Object.entries(required)) {
    if (!argument.has(name)) throw failureAt(code, `Missing '${name}' parameter to ${operator}`);
  }
  return argument;
}

/** Arguments as a list, also where there is one alone. */
export function listOf(argument: BsonValue): BsonValue[] {
  return Array.isArray(argument) ? argument : [argument];
}
