import { ERROR_TABLE, type ErrorCode } from './error-messages.js';

/** Whether a value names an error for the documentation: a code of the table, or a status of your own. */
export function isProblem(value: unknown): value is ErrorCode | number {
  if (typeof value === 'number') return Number.isInteger(value) && value >= 400 && value <= 599;
  return typeof value === 'string' && Object.hasOwn(ERROR_TABLE, value);
}
