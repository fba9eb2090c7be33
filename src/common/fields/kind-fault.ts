import { isObjectId } from '../ids/index.js';
import { fieldMessages, SHAPES } from './field-messages.js';
import type { FieldSource } from './field-source.js';
import { isTimestampDate } from './parse-timestamp.js';
import { isPlainObject } from './plain-object.js';
import { isWellFormed } from './well-formed.js';

/**
 * A sentence about a value that is not of its field's kind; undefined if it is. Plain decorators accept such
 * values: `@IsString({ each: true })` accepts a string for a list, and the store would then convert one to
 * the other.
 */
export function kindFault(field: FieldSource, value: unknown): string | undefined {
  // A field decorator has its own sentence for everything that it rejects.
  if (field.declaration) return undefined;
  const { name, list } = field;
  const entries: unknown[] = list && Array.isArray(value) ? value : [value];
  const hasMalformedText = entries.some((entry) => typeof entry === 'string' && !isWellFormed(entry));
  // Values without a class were checked when they were read.
  if (hasMalformedText && field.kind !== 'other') return fieldMessages.malformedText(name);
  if (!list) return fits(field, value) ? undefined : fieldMessages.wrongShape(name, shapeOf(field));
  if (!Array.isArray(value)) return fieldMessages.wrongShape(name, 'an array');
  if (entries.some((entry) => entry === null || entry === undefined)) return fieldMessages.nullInList(name);
  if (entries.every((entry) => fits(field, entry))) return undefined;
  return fieldMessages.wrongShape(name, `an array, each entry ${shapeOf(field)}`);
}

function shapeOf({ kind, values = [] }: FieldSource): string {
  return SHAPES[kind] ?? `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
}

function fits({ kind, values }: FieldSource, value: unknown): boolean {
  switch (kind) {
    case 'text':
    case 'decimal':
      return typeof value === 'string';
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      // JSON can write numbers that are too large for a double, such as 1e999.
      return Number.isFinite(value);
    case 'flag':
      return typeof value === 'boolean';
    case 'timestamp':
      return isTimestampDate(value);
    case 'identifier':
      return isObjectId(value);
    case 'enum':
      return values?.includes(value as string) !== false;
    case 'nested':
      return isPlainObject(value);
    case 'other':
      return true;
  }
}
