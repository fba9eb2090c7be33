import { compareValues } from '../bson/compare.js';
import type { BsonValue } from '../bson/types.js';
import { keep, type Modifier } from './modifier.js';

/** `$min` and `$max`: by the order across all types. */
export function extreme(operator: '$min' | '$max', operand: BsonValue): Modifier {
  const direction = operator === '$min' ? 1 : -1;
  return {
    missing: 'create',
    change: (current) =>
      current === undefined || compareValues(current, operand) * direction > 0 ? operand : keep,
  };
}
