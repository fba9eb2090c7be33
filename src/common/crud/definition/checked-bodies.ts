/** Bodies that a reader has checked, so that nobody checks them twice. A copy is another object, and checked again. */
const checked = new WeakMap<object, object>();

/** Remembers that a reader has checked a body. */
export function markChecked<Body extends object>(body: Body, reader: object): Body {
  checked.set(body, reader);
  return body;
}

/** Scopes of requests whose body nobody has checked. */
const unread = new WeakSet<object>();

/** Remembers that a request has a body that its route does not describe, so that what it says is not taken for code's. */
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
