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

/** Scopes of requests whose body nobody has checked. */
const unread = new WeakSet<object>();

/**
 * Remembers that a request has a body its route does not describe, so that its values are not trusted as
 * code's own.
 */
export function markUnread(scope: object): void {
  unread.add(scope);
}

/** Whether values of this scope may come straight from a client. */
export function hasUnreadBody(scope: object): boolean {
  return unread.has(scope);
}

/** Whether this reader has checked the body. */
export function isChecked(body: unknown, reader: object): boolean {
  return typeof body === 'object' && body !== null && checked.get(body) === reader;
}
