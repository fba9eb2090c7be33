import { Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { errorMessages, ValidationError, type Violation } from '../../errors/index.js';

/**
 * Reads the parameter `fields`: names of fields that clients see, separated by commas.
 *
 * @param violations takes the first name that is not among those shown
 * @returns undefined if all fields are asked for
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

/** The fields of a shown record that a request asks for, and the identifier. */
export function project<T extends object>(record: T, fields: readonly string[] | undefined): Partial<T> {
  if (!fields) return record;
  const entries = Object.entries(record).filter(([name]) => name === '_id' || fields.includes(name));
  return Object.fromEntries(entries) as Partial<T>;
}

/** Reads `fields` for hand-written controllers: undefined if all fields are asked for. */
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
