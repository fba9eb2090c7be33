import type { BsonValue } from '../bson/types.js';
import { badValue } from '../errors.js';
import { keep, type Modifier } from './modifier.js';

/** Removes the elements of an array for which a test is true. */
export function removal(operator: string, test: (element: BsonValue) => boolean): Modifier {
  return {
    missing: 'check',
    change(current) {
      if (!Array.isArray(current)) throw badValue(`Cannot apply ${operator} to a non-array value`);
      const after = current.filter((element) => !test(element));
      return after.length === current.length ? keep : after;
    },
  };
}
