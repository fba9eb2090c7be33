import type { BsonDocument, BsonValue } from '../bson/types.js';
import { Registry } from '../registry.js';
import type { Condition } from './condition.js';
import type { ClauseContext, Filter } from './types.js';

/**
 * Reads what an operator asks of a field: `{ field: { $gt: 1 } }`. The siblings are the operators beside it, itself included;
 * `undefined` asks nothing.
 */
export type FieldOperator = (argument: BsonValue, siblings: BsonDocument) => Condition | undefined;

/** Operators below a field of a filter. */
export const fieldOperators = new Registry<FieldOperator>('The operator');

/** Reads an operator that stands where a filter has its fields: `{ $or: [] }`. */
export type ClauseOperator = (argument: BsonValue, context: ClauseContext) => Filter;

/** Operators in the place of a filter's fields. */
export const clauseOperators = new Registry<ClauseOperator>('The operator');
