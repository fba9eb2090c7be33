import { errorMessages, ValidationError, type Violation } from '../../errors/index.js';
import { ARCHIVED, type Archived } from '../definition/archive.js';

/** Query parameter that asks for archived records. */
export const ARCHIVED_PARAMETER = 'archived';

/** Whether a query contains `archived`, valid or not: either way it requires a token. */
export function asksForArchived(query: Readonly<Record<string, unknown>>): boolean {
  return ARCHIVED_PARAMETER in query;
}

/** Reads the parameter `archived`. */
export function readArchived(text: string | undefined, violations: Violation[]): Archived | undefined {
  const found = ARCHIVED.find((archived) => archived === text);
  if (!found && text !== undefined) {
    const detail = errorMessages.notOneOf(ARCHIVED_PARAMETER, ARCHIVED);
    violations.push({ parameter: ARCHIVED_PARAMETER, detail });
  }
  return found;
}

/**
 * {@link readArchived} for a route whose query is not typed.
 *
 * @throws ValidationError if it is neither `only` nor `include`
 */
export function requireArchived(query: Readonly<Record<string, unknown>>): Archived | undefined {
  const violations: Violation[] = [];
  const archived = readArchived(query[ARCHIVED_PARAMETER] as string | undefined, violations);
  const [first] = violations;
  if (first) throw new ValidationError([first]);
  return archived;
}
