/**
 * Whether a text is well-formed Unicode. A lone surrogate has no UTF-8 form: another character would be
 * stored.
 */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}
