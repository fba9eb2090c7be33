import { BSONRegExp } from 'bson';
import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { fieldOperators } from './operators.js';
import { type Condition, conjunction } from './condition.js';
import { equality } from './equality.js';
import { isReference } from './reference.js';
import { regex } from './regex-condition.js';

/** What a filter asks of one field: operators, a regular expression or a value to be equal to. */
export function fieldCondition(argument: BsonValue): Condition {
  if (argument instanceof BSONRegExp) return regex(argument);
  return isOperators(argument) ? conjunction(operatorConditions(argument)) : equality(argument);
}

/** Whether a value is a document of operators, and no value to be equal to. */
export function isOperators(value: BsonValue): value is BsonDocument {
  return isDocument(value) && (value.keys().next().value?.startsWith('$') ?? false) && !isReference(value);
}

/**
 * What operators ask, each in turn.
 *
 * @throws CommandError CommandNotSupported (115) for an operator that this server lacks
 */
export function operatorConditions(operators: BsonDocument): Condition[] {
  return [...operators].flatMap(([name, argument]) => fieldOperators.find(name)(argument, operators) ?? []);
}

/** Whether an operator stands in the place of a field rather than below one. */
export function isTopLevelOperator(name: string): boolean {
  return ['$and', '$or', '$nor', '$where', '$expr'].includes(name);
}
