import { Types } from 'mongoose';
import { commandsOf } from '../../support/sent-commands.js';
import { expectInvalid } from '../../support/problems.js';
import { acme as token } from '../../support/tenants.js';
import { useTestApp } from '../../support/test-app.js';
import { linksOf } from '../../support/walks.js';

const app = useTestApp();

describe('the parameters of a page', () => {
  beforeEach(async () => {
    await app.empty();
    const todos = Array.from({ length: 7 }, (_, i) => {
      const [createdAt, updatedAt] = [new Date(1_770_000_000_000 + i), new Date(1_770_000_000_000)];
      return { title: `A&B, "<é>" +${i}`, completed: false, createdAt, updatedAt, __v: 0 };
    });
    await app.database.collection('todos').insertMany(todos);
  });

  const titles = (body: { results: { title: string }[] }) => body.results.map(({ title }) => title.slice(-1));

  it('stay in the links of a page by cursor, which lead through the list', async () => {
    const query = 'title[contains]=%26B,%20%22%3C%C3%89%3E%22%20%2B&sort=title&completed=false&count=none';
    const first = await app.get(`/todos?${query}&limit=3`);
    let page = await app.get(`/todos?${query}&limit=3&after=${first.body.next}`);
    expect(titles(page.body)).toEqual(['3', '4', '5']);
    const { next = '', prev = '', ...otherLinks } = linksOf(page.headers);
    expect(otherLinks).toEqual({});
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
    const at = (offset: number) => `/todos?offset=${offset}&limit=3&sort=title&title%5BstartsWith%5D=a%26b`;
    expect(linksOf(headers)).toEqual({ first: at(0), prev: at(0), next: at(6), last: at(6) });
    expect(titles((await app.get(linksOf(headers).next ?? '')).body)).toEqual(['6']);
    expect(body.count).toBe(7);
  });

  it('omit the count, and with it the last page', async () => {
    const { headers, body } = await app.get('/todos?limit=3&offset=3&count=none');
    expect(Object.keys(body).sort()).toEqual(['next', 'prev', 'results']);
    const at = (offset: number) => `/todos?offset=${offset}&limit=3&count=none`;
    expect(linksOf(headers)).toEqual({ first: at(0), prev: at(0), next: at(6) });
    const last = await app.get('/todos?limit=4&offset=3&count=none');
    expect(Object.keys(linksOf(last.headers))).toEqual(['first', 'prev']);
  });

  it('refuse other ways to count, and any without a page', async () => {
    const other = { parameter: 'count', detail: '"count" must be one of exact, estimated, none.' };
    expectInvalid(await app.get('/todos?limit=1&count=all'), '/todos', other);
    const alone = { parameter: 'count', detail: '"count" goes with a page. Send "limit", too.' };
    expectInvalid(await app.get('/todos?count=exact'), '/todos', alone);
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
    const estimated = 'limit=1&count=estimated';
    expect(await isOfAll(`/todos?${estimated}`)).toBe(true);
    expect(await isOfAll(`/todos?${estimated}&completed=false`)).toBe(false);
    expect(await isOfAll(`/posts/api?${estimated}`)).toBe(false);

    const { _id } = (await app.post('/posts/api', { title: 'Archived' }, { token })).body;
    await app.post('/posts/api', { title: 'Live' }, { token });
    await app.del(`/posts/api/${_id}`, { token });
    const pageOf = async (path: string) => (await app.get(`${path}${estimated}`)).body as { count: number };
    expect((await pageOf('/posts/api?')).count).toBe(1);
    expect((await pageOf('/todos?')).count).toBe(7);
    const none = await pageOf(`/todos?_id=${String(new Types.ObjectId())}&`);
    expect(none).toEqual({ results: [], count: 0, next: null, prev: null });
  });
});

// What filters select is a matter of the random queries.
describe('the filters and orders of a list', () => {
  it('search for texts of up to a thousand characters, from any plane', async () => {
    await app.empty();
    await app.post('/todos', { title: '𐐀'.repeat(200) });
    const found = async (operator: string, length: number) =>
      (await app.get(`/todos?title[${operator}]=${encodeURIComponent('𐐨'.repeat(length))}`)).body as object[];
    for (const operator of ['contains', 'startsWith']) {
      expect(await found(operator, 200)).toHaveLength(1);
      expect(await found(operator, 1_000)).toEqual([]);
    }
  });

  it('refuse anything undeclared, and list what is declared', async () => {
    const asked = 'description=x&title[regex]=a&sort=-description&fields=__v';
    const faults = {
      description:
        '"description" is not a parameter here. Allowed: offset, limit, after, before, count, sort, fields, q, _id, title, completed, dueAt, createdAt, updatedAt.',
      'title[regex]':
        '"title" has no operator "regex". Allowed: eq, ne, in, nin, exists, contains, startsWith.',
      fields:
        '"__v" is not a field of the records here. Allowed: _id, title, description, completed, dueAt, createdAt, updatedAt.',
      sort: '"-description" is not an order here. Allowed: -createdAt; createdAt; -updatedAt; updatedAt; dueAt; -dueAt; title; -title; completed,dueAt; -completed,-dueAt.',
    };
    const violations = Object.entries(faults).map(([parameter, detail]) => ({ parameter, detail }));
    expectInvalid(await app.get(`/todos?${asked}`), '/todos', ...violations);
  });
});
