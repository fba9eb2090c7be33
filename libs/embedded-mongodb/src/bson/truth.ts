import { isZero } from './numbers.js';
import { type BsonValue, isNumber } from './types.js';

/** Whether MongoDB considers a value true if it expects a boolean. */
export function isTruthy(value: BsonValue | undefined): boolean {
  if (isNumber(value)) return !isZero(value);
  return value !== undefined && value !== null && value !== false;
}
