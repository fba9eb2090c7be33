/**
 * Bodies that a reader has checked, and need not be checked again. A copy is another object and is checked
 * again.
 */
const checked = new WeakMap<object, object>();

/** Remembers that a reader has checked a body. */
export function markChecked<Body extends object>(body: Body, reader: object): Body {
  checked.set(body, reader);
  return body;
}

/** Whether this reader has checked the body. */
export function isChecked(body: unknown, reader: object): boolean {
  return typeof body === 'object' && body !== null && checked.get(body) === reader;
}
