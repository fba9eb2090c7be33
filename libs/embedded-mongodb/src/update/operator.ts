import type { BsonValue } from '../bson/types.js';
import { Registry } from '../registry.js';
import type { Step } from './apply.js';
import type { Modifier } from './modifier.js';

/**
 * Reads the effect of an operator on the field at a path; most change only that field, and leave its step to
 * the caller.
 */
export type UpdateOperator =
  | { modifier(path: string, argument: BsonValue): Modifier }
  | { step(path: string, argument: BsonValue): Step };

/** Operators of updates: `{ $set: { field: 1 } }`. */
export const updates = new Registry<UpdateOperator>('The operator');
