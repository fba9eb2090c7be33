import { Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { errorMessages, ValidationError, type Violation } from '../../errors/index.js';

/**
 * Reads the parameter `fields`: comma-separated names of fields that clients see.
 *
 * @param violations receives an entry for the first name that is not among those shown
 * @returns undefined if all fields are requested
 */
export function readFields(
  text: string | undefined,
  shown: readonly string[],
  violations: Violation[],
): string[] | undefined {
  if (text === undefined) return undefined;
  const names = [...new Set(text.split(','))];
  const stray = names.find((name) => !shown.includes(name));
  if (stray === undefined) return names;
  violations.push({ parameter: 'fields', detail: errorMessages.unknownFieldName(stray, shown) });
  return undefined;
}

/** The requested fields of a shown record, and its identifier. */
export function project<T extends object>(record: T, fields: readonly string[] | undefined): Partial<T> {
  if (!fields) return record;
  const entries = Object.entries(record).filter(([name]) => name === '_id' || fields.includes(name));
  return Object.fromEntries(entries) as Partial<T>;
}

/** Reads `fields` for hand-written controllers; undefined if all fields are requested. */
export function fieldsPipe(
  shown: readonly string[],
): Type<PipeTransform<string | undefined, string[] | undefined>> {
  @Injectable()
  class FieldsPipe implements PipeTransform<string | undefined, string[] | undefined> {
    /** @throws ValidationError if one is not among those shown */
    transform(text: string | undefined): string[] | undefined {
      const violations: Violation[] = [];
      const fields = readFields(text, shown, violations);
      const [first, ...others] = violations;
      if (first) throw new ValidationError([first, ...others]);
      return fields;
    }
  }
  return FieldsPipe;
}
