/** The bounds of a number as a person reads them: " from 1 to 5", ", at least 1", ", at most 5", or nothing. */
export function rangeShape(min?: number | string, max?: number | string): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return `, at least ${min}`;
  return max === undefined ? '' : `, at most ${max}`;
}
