/**
 * The form of a value: `whole`; a merge `patch`, whose nested objects are also partial; or some fields of a
 * whole value after a patch was `merged` into them.
 */
export type ValueForm = 'whole' | 'patch' | 'merged';

/** The form of the object in a field of a value. */
export function memberForm(form: ValueForm): ValueForm {
  return form === 'patch' ? 'patch' : 'whole';
}
