/** A key of an order: the path of a field, and the direction. */
export interface SortKey {
  readonly path: string;
  readonly descending: boolean;
}

/** An order of records: the keys that a client names, without `_id`. */
export interface Order {
  readonly keys: readonly SortKey[];
  /** The order as a client writes it, such as `completed,-dueAt`. */
  readonly text: string;
}

/** Newest first: the order of a list if the query names none. */
export const NEWEST_FIRST: Order = orderOf(['-createdAt']);

/** Makes an order from keys such as `-createdAt`, for the `order` of a list's query. */
export function orderOf(keys: readonly string[]): Order {
  return {
    text: keys.join(),
    keys: keys.map((key) =>
      key.startsWith('-') ? { path: key.slice(1), descending: true } : { path: key, descending: false },
    ),
  };
}

/** Whether a field is one of an order's keys. */
export function sortsBy({ keys }: Order, field: string | undefined): boolean {
  return keys.some(({ path }) => path === field);
}

/** The exact reverse of an order. */
export function reverseOf({ keys }: Order): Order {
  return orderOf(keys.map(({ path, descending }) => (descending ? path : `-${path}`)));
}

/**
 * The order in the form that the store sorts and indexes by. `_id` breaks ties, in the direction of the last
 * key, since values repeat: `createdAt` does within a millisecond.
 */
export function sortOf({ keys }: Order): Record<string, 1 | -1> {
  const sort = Object.fromEntries(keys.map(({ path, descending }) => [path, descending ? -1 : 1] as const));
  return { ...sort, _id: keys.at(-1)?.descending ? -1 : 1 };
}
