import { errorMessages, type Violation } from '../../errors/index.js';
import type { CrudDefinition, ReferenceDefinition } from '../definition/crud-definition.js';

/** Reads the parameter `expand`: comma-separated paths of references that clients see. */
export function readExpand(
  text: string | undefined,
  { expandable }: CrudDefinition,
  violations: Violation[],
): ReferenceDefinition[] {
  if (text === undefined) return [];
  const paths = [...new Set(text.split(','))];
  const stray = paths.find((path) => !expandable.has(path));
  if (stray === undefined) return paths.flatMap((path) => expandable.get(path) ?? []);
  const detail = errorMessages.notExpandable(stray, [...expandable.keys()]);
  violations.push({ parameter: 'expand', detail });
  return [];
}
