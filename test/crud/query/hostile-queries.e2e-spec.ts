/** @mongodb */
import { expectClientError } from '../../support/problems.js';
import { Random } from '../../support/random.js';
import { sendRaw } from '../../support/raw-http.js';
import { useTestApp } from '../../support/test-app.js';

const SEED = Number(process.env.QUERY_SEED ?? 1);
/** Random query strings. */
const QUERIES = Number(process.env.QUERIES ?? 200);

/** Query strings that the list of todos refuses, each by the name of its first parameter. */
const REFUSED = [
  ...`
    filter[$where]=sleep(1000) $where=1 title[$ne]=x title[regex]=.* title[$regex]=(a%2B)%2B$
    title[__proto__]=x title[constructor]=x title[toString]=x __proto__[x]=1 __proto__=1 constructor=1
    hasOwnProperty=1 sort=$natural sort=__proto__ sort= sort=title,title sort=TITLE sort=%20title
    sort[title]=1 fields=%2B__v fields=__v fields=-title fields=title.0 fields=$where fields[]=title
    title[]=x title[ne][ne]=x title[ne=x title]ne[=x [title]=x title.length[eq]=3 title.$ne=x
    title[EQ]=x Title=x tıtle=x ｔｉｔｌｅ=x title%00=x title%20=x title%0A[eq]=x =x title=a&title=b
    title[in]=a&title[in]=b limit=1&limit=1 limit=1;offset=2 description=x __v=0 __v[gt]=0 _id=7
    _id[gt]=000000000000000000000000 _id[in]=000000000000000000000000, completed=1 completed=TRUE
    completed= completed[in]=true dueAt=tomorrow dueAt=2026-01-01 dueAt=2026-02-30T00:00:00Z dueAt[gt]=0
    dueAt=2026-01-01T00:00:00+01:00 dueAt[contains]=2026 title[exists]=1 title[exists]=
  `
    .trim()
    .split(/\s+/),
  `title[in]=${'a,'.repeat(100)}`,
  `title[contains]=${'a'.repeat(1_001)}`,
  `title[startsWith]=${encodeURIComponent('😀'.repeat(1_001))}`,
  `title${'['.repeat(1_000)}${']'.repeat(1_000)}=x`,
  `title${'[a]'.repeat(1_000)}=x`,
];

describe('hostile queries', () => {
  const app = useTestApp({ env: { LOG_LEVEL: 'error' } });
  beforeAll(async () => {
    await app.post('/todos', { title: 'Stands' });
    await app.get('/todos?title[contains]=x');
  });

  const raw = (query: string) => sendRaw(app.url, { path: `/todos?${query}` });

  it.each(REFUSED)('%.80s is a 400 that names the parameter', async (query) => {
    const parameter = decodeURIComponent(query.split('=', 1)[0] ?? '');
    const response = await raw(encodeURI(query).replaceAll('%25', '%'));
    expectClientError(response, 400);
    const named = (response.body.errors as { parameter: string }[]).map((error) => error.parameter);
    // A long name is shortened in the middle.
    const [start = '-', end = ''] = (named[0] ?? '-').split('…');
    const isNamed = parameter.startsWith(start) && (end === '' || parameter.endsWith(end));
    expect(isNamed || named.includes(parameter)).toBe(true);
  });

  it.each([
    ...['%', 'title=%', 'title=%zz', 'title=%E4', 'title=%FF', '%FF=x', 'title=%ED%A0%80', 'title=%C0%80'],
    'limit=1&title=%F4%90%80%80',
  ])('%s is not UTF-8', async (query) => {
    const response = await raw(query);
    expectClientError(response, 400);
    const detail = 'The URL is not valid. Percent-encode its special characters in UTF-8.';
    expect(response.body.detail).toBe(detail);
  });

  it.each([
    ['10,000 parameters', 'a&'.repeat(5_000) + 'a=&'.repeat(5_000)],
    ['1,000 parameters', 'a=&'.repeat(1_000)],
    ['a megabyte', `title=${'x'.repeat(1_000_000)}`],
  ])('%s is refused', async (_name, query) => {
    expectClientError(await raw(query), 400, 414, 431);
  });

  it('accepts at most 20 conditions, and as many values as are allowed', async () => {
    const operators = 'eq ne gt gte lt lte in nin'.split(' ');
    const conditions = ['dueAt', 'createdAt', 'updatedAt'].flatMap((name) =>
      operators.map((operator) => `${name}[${operator}]=2026-01-01T00:00:00Z`),
    );
    const query = (count: number) => conditions.slice(0, count).join('&');
    expect((await app.get(`/todos?${query(20)}`)).status).toBe(200);
    const { status, body } = await app.get(`/todos?${query(21)}`);
    const detail = 'A query has at most 20 conditions. Leave some out.';
    expect([status, body.errors[0].detail]).toEqual([400, detail]);
    expect((await app.get(`/todos?title[in]=${Array(100).fill('a').join()}`)).status).toBe(200);
    const codeOf = async (count: number) =>
      (await raw(Array.from({ length: count }, (_, i) => `a${i}=`).join('&'))).body.code as unknown;
    expect([await codeOf(200), await codeOf(201)]).toEqual(['VALIDATION_FAILED', 'MALFORMED_REQUEST']);
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
