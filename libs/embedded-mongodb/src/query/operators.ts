import type { BsonDocument, BsonValue } from '../bson/types.js';
import { Registry } from '../registry.js';
import type { Condition } from './condition.js';
import type { ClauseContext, Filter } from './types.js';

/**
 * Reads the condition of an operator on a field: `{ field: { $gt: 1 } }`. The siblings are all operators of
 * that field; `undefined` means no condition.
 */
export type FieldOperator = (argument: BsonValue, siblings: BsonDocument) => Condition | undefined;

/** Operators below a field of a filter. */
export const fieldOperators = new Registry<FieldOperator>('The operator');

/** Reads an operator in place of a filter's field: `{ $or: [] }`. */
export type ClauseOperator = (argument: BsonValue, context: ClauseContext) => Filter;

/** Operators in place of a filter's fields. */
export const clauseOperators = new Registry<ClauseOperator>('The operator');
