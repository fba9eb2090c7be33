import { BSONRegExp } from 'bson';
import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { fieldOperators } from './operators.js';
import { type Condition, conjunction } from './condition.js';
import { equality } from './equality.js';
import { isReference } from './reference.js';
import { regex } from './regex-condition.js';

/** A filter's condition on one field: operators, a regular expression, or a value to equal. */
export function fieldCondition(argument: BsonValue): Condition {
  if (argument instanceof BSONRegExp) return regex(argument);
  return isOperators(argument) ? conjunction(operatorConditions(argument)) : equality(argument);
}

/** Whether a value is a document of operators rather than a value to equal. */
export function isOperators(value: BsonValue): value is BsonDocument {
  return isDocument(value) && (value.keys().next().value?.startsWith('$') ?? false) && !isReference(value);
}

/**
 * The conditions of operators, in order.
 *
 * @throws CommandError CommandNotSupported (115) for an operator that this server lacks
 */
export function operatorConditions(operators: BsonDocument): Condition[] {
  return [...operators].flatMap(([name, argument]) => fieldOperators.find(name)(argument, operators) ?? []);
}

/** Whether an operator is used in place of a field rather than below one. */
export function isTopLevelOperator(name: string): boolean {
  return ['$and', '$or', '$nor', '$where', '$expr'].includes(name);
}
