import { errorMessages, type Violation } from '../../errors/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';

/** Reads the parameter `fields`: names of fields that clients see, separated by commas. */
export function readFields(
  text: string | undefined,
  { shownFields }: CrudDefinition,
  violations: Violation[],
): string[] | undefined {
  if (text === undefined) return undefined;
  const names = [...new Set(text.split(','))];
  const stray = names.find((name) => !shownFields.includes(name));
  if (stray === undefined) return names;
  violations.push({ parameter: 'fields', detail: errorMessages.unknownFieldName(stray, shownFields) });
  return undefined;
}
