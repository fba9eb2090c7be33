/** @mongodb */
import { Types } from 'mongoose';
import { commandsOf } from '../../support/sent-commands.js';
import { expectInvalid } from '../../support/problems.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { createTestApp, useTestApp } from '../../support/test-app.js';

/** The targets of a `Link` header by their relations (RFC 8288). */
function linksOf(headers: Headers): Record<string, string> {
  const links = (headers.get('link') ?? '').split(', ').filter(Boolean);
  return Object.fromEntries(
    links.map((link) => {
      const [, target = '', rel = ''] = /^<([^>]+)>; rel="(\w+)"$/.exec(link) ?? [];
      return [rel, target];
    }),
  );
}

describe('the parameters of a page', () => {
  const app = useTestApp();
  beforeEach(async () => {
    await app.empty();
    const todos = Array.from({ length: 7 }, (_, i) => ({
      title: `A&B, "<é>" +${i}`,
      completed: false,
      createdAt: new Date(1_770_000_000_000 + i),
      updatedAt: new Date(1_770_000_000_000),
      __v: 0,
    }));
    await app.database.collection('todos').insertMany(todos);
  });

  const titles = (body: { results: { title: string }[] }) => body.results.map(({ title }) => title.slice(-1));

  it('stay in the links of a page by cursor, which lead through the list', async () => {
    const query = 'title[contains]=%26B,%20%22%3C%C3%89%3E%22%20%2B&sort=title&completed=false&count=none';
    const first = await app.get(`/todos?${query}&limit=3`);
    let page = await app.get(`/todos?${query}&limit=3&after=${first.body.next}`);
    expect(titles(page.body)).toEqual(['3', '4', '5']);
    const { next = '', prev = '', ...others } = linksOf(page.headers);
    expect(others).toEqual({});
    const parameters = new URL(next, app.url).searchParams;
    expect(Object.fromEntries(parameters)).toEqual({
      'title[contains]': '&B, "<É>" +',
      sort: 'title',
      completed: 'false',
      count: 'none',
      limit: '3',
      after: page.body.next,
    });
    page = await app.get(next);
    expect(titles(page.body)).toEqual(['6']);
    expect(Object.keys(linksOf(page.headers))).toEqual(['prev']);
    page = await app.get(prev);
    expect(titles(page.body)).toEqual(['0', '1', '2']);
    expect(Object.keys(linksOf(page.headers))).toEqual(['next']);
    expect(page.body).toEqual({ results: expect.any(Array), next: expect.any(String), prev: null });
  });

  it('stay in the links of a page by offset', async () => {
    const { headers, body } = await app.get('/todos?sort=title&limit=3&offset=3&title[startsWith]=a%26b');
    expect(linksOf(headers)).toEqual({
      first: '/todos?offset=0&limit=3&sort=title&title%5BstartsWith%5D=a%26b',
      prev: '/todos?offset=0&limit=3&sort=title&title%5BstartsWith%5D=a%26b',
      next: '/todos?offset=6&limit=3&sort=title&title%5BstartsWith%5D=a%26b',
      last: '/todos?offset=6&limit=3&sort=title&title%5BstartsWith%5D=a%26b',
    });
    expect(titles((await app.get(linksOf(headers).next ?? '')).body)).toEqual(['6']);
    expect(body.count).toBe(7);
  });

  it('omit the count, and with it the last page', async () => {
    const { headers, body } = await app.get('/todos?limit=3&offset=3&count=none');
    expect(Object.keys(body).sort()).toEqual(['next', 'prev', 'results']);
    expect(linksOf(headers)).toEqual({
      first: '/todos?offset=0&limit=3&count=none',
      prev: '/todos?offset=0&limit=3&count=none',
      next: '/todos?offset=6&limit=3&count=none',
    });
    expect(Object.keys(linksOf((await app.get('/todos?limit=4&offset=3&count=none')).headers))).toEqual([
      'first',
      'prev',
    ]);
  });

  it('need no limit with a cursor', async () => {
    const { next } = (await app.get('/todos?limit=2')).body;
    expect(titles((await app.get(`/todos?after=${next}`)).body)).toEqual(['4', '3', '2', '1', '0']);
  });

  it('refuse other ways to count, and any without a page', async () => {
    expectInvalid(await app.get('/todos?limit=1&count=all'), '/todos', {
      parameter: 'count',
      detail: '"count" must be one of exact, estimated, none.',
    });
    expectInvalid(await app.get('/todos?count=exact'), '/todos', {
      parameter: 'count',
      detail: '"count" goes with a page. Send "limit", too.',
    });
    expect((await app.get('/todos/count?count=none')).status).toBe(400);
  });

  it('estimate the count from the figure that the database keeps, if that reveals nothing hidden', async () => {
    /** Whether the figure of the whole collection was asked for, or one of the records that meet a condition. */
    const isOfAll = async (path: string) => {
      const sent = await commandsOf(app, () => app.get(path));
      const [count, ...others] = sent.filter(({ name }) => name.startsWith('count '));
      expect(others).toEqual([]);
      return count?.command.query === undefined;
    };
    expect(await isOfAll('/todos?limit=1&count=estimated')).toBe(true);
    expect(await isOfAll('/todos?limit=1&count=estimated&completed=false')).toBe(false);
    expect(await isOfAll('/posts/api?limit=1&count=estimated')).toBe(false);

    const token = await tokenOf(ACME);
    const { _id } = (await app.post('/posts/api', { title: 'Archived' }, { token })).body;
    await app.post('/posts/api', { title: 'Live' }, { token });
    await app.del(`/posts/api/${_id}`, { token });
    expect((await app.get('/posts/api?limit=1&count=estimated')).body.count).toBe(1);
    expect((await app.get('/todos?limit=1&count=estimated')).body.count).toBe(7);
    expect(
      (await app.get(`/todos?limit=1&count=estimated&_id=${String(new Types.ObjectId())}`)).body,
    ).toEqual({ results: [], count: 0, next: null, prev: null });
  });

  it('of the hand-written form are those of the place alone', async () => {
    const handwritten = await createTestApp({ env: { TODOS_API: 'handwritten' } });
    for (const name of ['after', 'before', 'count']) {
      expectInvalid(await handwritten.get(`/todos?${name}=x`), '/todos', {
        parameter: name,
        detail: `"${name}" is not a parameter here. Allowed: offset, limit.`,
      });
    }
    expect((await handwritten.get('/todos?limit=1')).body).toEqual({ results: [], count: 0 });
    await handwritten.close();
  });
});
