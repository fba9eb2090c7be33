/** @mongodb */
import { Random } from '../../support/random.js';
import { sendRaw } from '../../support/raw-http.js';
import { type TestResponse, useTestApp } from '../../support/test-app.js';

const SEED = Number(process.env.QUERY_SEED ?? 1);
/** Random query strings. */
const QUERIES = Number(process.env.QUERIES ?? 200);

/** Query strings that the list of todos refuses, and the parameter that the answer names. */
const REFUSED: readonly (readonly [query: string, parameter: string])[] = [
  ['filter[$where]=sleep(1000)', 'filter[$where]'],
  ['$where=1', '$where'],
  ['title[$ne]=x', 'title[$ne]'],
  ['title[regex]=.*', 'title[regex]'],
  ['title[$regex]=(a%2B)%2B$', 'title[$regex]'],
  ['title[__proto__]=x', 'title[__proto__]'],
  ['title[constructor]=x', 'title[constructor]'],
  ['title[toString]=x', 'title[toString]'],
  ['__proto__[x]=1', '__proto__[x]'],
  ['__proto__=1', '__proto__'],
  ['constructor=1', 'constructor'],
  ['hasOwnProperty=1', 'hasOwnProperty'],
  ['sort=$natural', 'sort'],
  ['sort=__proto__', 'sort'],
  ['sort=', 'sort'],
  ['sort=title,title', 'sort'],
  ['sort=TITLE', 'sort'],
  ['sort=%20title', 'sort'],
  ['sort[title]=1', 'sort[title]'],
  ['fields=%2B__v', 'fields'],
  ['fields=__v', 'fields'],
  ['fields=-title', 'fields'],
  ['fields=title.0', 'fields'],
  ['fields=$where', 'fields'],
  ['fields[]=title', 'fields[]'],
  ['title[]=x', 'title[]'],
  ['title[ne][ne]=x', 'title[ne][ne]'],
  ['title[ne=x', 'title[ne'],
  ['title]ne[=x', 'title]ne['],
  ['[title]=x', '[title]'],
  ['title.length[eq]=3', 'title.length[eq]'],
  ['title.$ne=x', 'title.$ne'],
  ['title[EQ]=x', 'title[EQ]'],
  ['Title=x', 'Title'],
  ['tıtle=x', 'tıtle'],
  ['ｔｉｔｌｅ=x', 'ｔｉｔｌｅ'],
  ['title%00=x', 'title\0'],
  ['title%20=x', 'title '],
  ['title%0A[eq]=x', 'title\n[eq]'],
  ['=x', ''],
  ['title=a&title=b', 'title'],
  ['title[in]=a&title[in]=b', 'title[in]'],
  ['limit=1&limit=1', 'limit'],
  ['limit=1;offset=2', 'limit'],
  ['description=x', 'description'],
  ['__v=0', '__v'],
  ['__v[gt]=0', '__v[gt]'],
  ['_id=7', '_id'],
  ['_id[gt]=000000000000000000000000', '_id[gt]'],
  ['_id[in]=000000000000000000000000,', '_id[in]'],
  ['completed=1', 'completed'],
  ['completed=TRUE', 'completed'],
  ['completed=', 'completed'],
  ['completed[in]=true', 'completed[in]'],
  ['dueAt=tomorrow', 'dueAt'],
  ['dueAt=2026-01-01', 'dueAt'],
  ['dueAt=2026-02-30T00:00:00Z', 'dueAt'],
  ['dueAt[gt]=0', 'dueAt[gt]'],
  ['dueAt=2026-01-01T00:00:00+01:00', 'dueAt'],
  ['dueAt[contains]=2026', 'dueAt[contains]'],
  ['title[exists]=1', 'title[exists]'],
  ['title[exists]=', 'title[exists]'],
  [`title[in]=${'a,'.repeat(100)}`, 'title[in]'],
  [`title[contains]=${'a'.repeat(1_001)}`, 'title[contains]'],
  [`title[startsWith]=${encodeURIComponent('😀'.repeat(1_001))}`, 'title[startsWith]'],
  [`title${'['.repeat(1_000)}${']'.repeat(1_000)}=x`, `title${'['.repeat(1_000)}${']'.repeat(1_000)}`],
  [`title${'[a]'.repeat(1_000)}=x`, `title${'[a]'.repeat(1_000)}`],
];

/** Query strings that are refused as a whole, by their form. */
const UNREADABLE: readonly (readonly [name: string, query: string])[] = [
  ['half an escape', 'title=%'],
  ['an escape of no digits', 'title=%zz'],
  ['a lone surrogate', 'title=%ED%A0%80'],
  ['an overlong NUL', 'title=%C0%80'],
  ['a byte that UTF-8 does not have', 'title=%FF'],
  ['10,000 parameters', 'a&'.repeat(5_000) + 'a=&'.repeat(5_000)],
  ['1,000 parameters', 'a=&'.repeat(1_000)],
  ['a megabyte', `title=${'x'.repeat(1_000_000)}`],
];

describe('hostile queries', () => {
  const app = useTestApp({ env: { LOG_LEVEL: 'error' } });
  beforeAll(async () => {
    await app.post('/todos', { title: 'Stands' });
    await app.get('/todos?title[contains]=x');
  });

  const raw = (query: string) => sendRaw(app.url, { path: `/todos?${query}` });

  /** Asserts a problem that gives nothing of the inside away. */
  function expectProblem({ status, headers, body, text }: TestResponse, ...statuses: number[]): void {
    expect(statuses).toContain(status);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toMatchObject({ status, message: body.detail });
    expect(text).not.toMatch(/mongo|bson|node_modules|\.ts\b/i);
    expect(text.length).toBeLessThan(20_000);
  }

  it.each(REFUSED)('%.80s is a 400 that names the parameter', async (query, parameter) => {
    const response = await raw(encodeURI(query).replaceAll('%25', '%'));
    expectProblem(response, 400);
    const named = (response.body.errors as { parameter: string }[]).map((error) => error.parameter);
    // A long name is shortened in the middle.
    const [start = '-', end = ''] = (named[0] ?? '-').split('…');
    const isNamed = parameter.startsWith(start) && (end === '' || parameter.endsWith(end));
    expect(isNamed || named.includes(parameter)).toBe(true);
  });

  it.each(UNREADABLE)('%s is refused', async (_name, query) => {
    expectProblem(await raw(query), 400, 414, 431);
  });

  it('accepts at most 20 conditions, and as many values as are allowed', async () => {
    const names = ['title', 'dueAt', 'createdAt', 'updatedAt'];
    const all = names.flatMap((name) =>
      ['exists', 'ne', 'nin', 'in', 'eq', 'gt'].map((operator) => [name, operator]),
    );
    const value = (name = '', operator = '') =>
      operator === 'exists' ? 'true' : name === 'title' ? 'x' : '2026-01-01T00:00:00Z';
    const query = (count: number) =>
      all
        .filter(([name, operator]) => name !== 'title' || operator !== 'gt')
        .slice(0, count)
        .map(([name, operator]) => `${name}[${operator}]=${value(name, operator)}`)
        .join('&');
    expect((await app.get(`/todos?${query(20)}`)).status).toBe(200);
    const { status, body } = await app.get(`/todos?${query(21)}`);
    expect({ status, detail: body.errors[0].detail }).toEqual({
      status: 400,
      detail: 'A query has at most 20 conditions. Leave some out.',
    });
    const values = Array.from({ length: 100 }, () => 'a').join();
    expect((await app.get(`/todos?title[in]=${values}`)).status).toBe(200);
  });

  it.each([
    ['the same condition twice', 'title=Stands&title[eq]=Stands', 1],
    ['conditions that contradict', 'title=Stands&title[ne]=Stands', 0],
    ['two values at once', 'title=Stands&title[eq]=Falls', 0],
    ['the empty text', 'title=', 0],
    ['a NUL', 'title[contains]=%00', 0],
  ])('%s is a condition like others', async (_name, query, count) => {
    expect((await app.get(`/todos/count?${query}`)).body).toEqual({ count });
  });

  it('never answers random bytes with a 500', async () => {
    const random = new Random(SEED);
    const words = 'title dueAt _id sort fields limit in contains exists 1 true';
    const signs = '[ ] = = & , % %00 %E4 \\ + $ . - %F0%9F%A6%8A %ED%A0%80 / ? ; * (';
    const parts = `${words} ${signs}`.split(' ');
    for (let i = 0; i < QUERIES; i++) {
      const query = random.draw(parts, random.below(30)).join('');
      const path = random.pick(['/todos', '/posts/api', '/todos/count']);
      const { status } = await fetch(`${app.url}${path}?${query}`);
      expect({ query, isKnown: [200, 400].includes(status) }).toEqual({ query, isKnown: true });
    }
  });
});
