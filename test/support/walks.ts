import type { TestApp, TestRequest } from './test-app.js';

export interface CursorPage {
  results: { _id: string }[];
  count?: number;
  next: string | null;
  prev: string | null;
}

/** The list to walk through. */
export interface Walk {
  app: TestApp;
  path: string;
  /** Parameters besides those of the page. @default none */
  query?: Record<string, string>;
  /** Size of the next page. */
  limit: () => number;
  /** What happens between the pages. @default nothing */
  between?: (page: CursorPage) => Promise<unknown>;
  request?: TestRequest;
}

const idsOf = ({ results }: CursorPage) => results.map(({ _id }) => _id);

/** One page; it must succeed. */
export async function pageOf(
  { app, path, query = {}, limit, request }: Walk,
  place: Partial<Record<'after' | 'before' | 'offset', string>> = {},
): Promise<CursorPage> {
  const parameters = new URLSearchParams({ ...query, ...place, limit: String(limit()) });
  const answer = await app.get(`${path}?${parameters.toString()}`, request);
  expect(answer).toMatchObject({ status: 200, body: { results: expect.any(Array) } });
  return answer.body as CursorPage;
}

/** The identifiers from a first page to the end, by `next` alone, and the last page. */
export async function walkForward(walk: Walk): Promise<{ ids: string[]; last: CursorPage }> {
  let page = await pageOf(walk);
  const ids = idsOf(page);
  expect(page.prev).toBeNull();
  while (page.next !== null) {
    await walk.between?.(page);
    page = await pageOf(walk, { after: page.next });
    // What is between the pages may be gone.
    if (!walk.between) expect(page.prev).not.toBeNull();
    ids.push(...idsOf(page));
  }
  return { ids, last: page };
}

/** The identifiers before a page, back to the start, by `prev` alone, in the order of the list. */
export async function walkBack(walk: Walk, from: CursorPage): Promise<string[]> {
  const ids: string[] = [];
  let page = from;
  while (page.prev !== null) {
    await walk.between?.(page);
    page = await pageOf(walk, { before: page.prev });
    if (!walk.between) expect(page.next).not.toBeNull();
    ids.unshift(...idsOf(page));
  }
  return ids;
}

/** The targets of a `Link` header by their relations (RFC 8288). */
export function linksOf(headers: Headers): Record<string, string> {
  const links = (headers.get('link') ?? '').matchAll(/<([^>]+)>; rel="(\w+)"(?:, |$)/gy);
  return Object.fromEntries([...links].map(([, target = '', rel = '']) => [rel, target]));
}

/** Every order that a resource declares, as its own error lists them. */
export async function ordersOf(app: TestApp, path: string, request?: TestRequest): Promise<string[]> {
  const { body } = await app.get(`${path}?limit=1&sort=-`, request);
  const orders = /Allowed: (.*)\.$/.exec(body.detail as string)?.[1]?.split('; ') ?? [];
  expect(orders).toContain('-createdAt');
  return orders;
}
