import { isPlainObject } from '../../fields/index.js';
import { checkNames } from './check-names.js';
import type { Fail } from './fail.js';
import { OPTION_NAMES } from './option-names.js';

/** A hundred years. Unit: days. */
const MAX_DAYS = 36_500;

/** Checks the option `audit`. */
export function checkAudit(audit: unknown, fail: Fail): void {
  if (audit === undefined || typeof audit === 'boolean') return;
  if (!isPlainObject(audit)) fail('audit must be true, false or { keptDays }.');
  checkNames(audit, 'audit', OPTION_NAMES.audit, fail);
  const { keptDays = 1 } = audit as { keptDays?: unknown };
  const isFitting = Number.isInteger(keptDays) && Number(keptDays) >= 1 && Number(keptDays) <= MAX_DAYS;
  if (!isFitting) fail(`audit.keptDays must be a whole number from 1 to ${MAX_DAYS}.`);
}
