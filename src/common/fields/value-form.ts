/**
 * What a value is: `whole`, a merge `patch` whose nested objects are partial, too, or some fields of a whole after a
 * patch was `merged` into them.
 */
export type ValueForm = 'whole' | 'patch' | 'merged';

/** What the object in a field of a value is. */
export function memberForm(form: ValueForm): ValueForm {
  return form === 'patch' ? 'patch' : 'whole';
}
