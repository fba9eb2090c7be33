/** @mongodb */
import { Types } from 'mongoose';
import { IsListOf, IsReference, IsText } from '../../../src/common/fields/index.js';
import { expectInvalid } from '../../support/problems.js';
import { each } from '../../support/records.js';
import { ADA, BOB, createReferringApp, FILTERS, PATHS, referredBy } from '../../support/referring-app.js';
import { createResourceApp, useResourceApp } from '../../support/resource-app.js';
import { feature, resource } from '../../support/resource.js';
import { commandsOf } from '../../support/sent-commands.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { type TestRequest, useApp } from '../../support/test-app.js';

const app = useApp(createReferringApp);
beforeEach(() => app.empty());

const make = (path: string, body: object, token = ADA) => app.create(path, body, token);

async function seen(path: string, sent?: TestRequest) {
  const { status, body } = await app.get(path, sent);
  expect(status).toBe(200);
  return body;
}

describe('expand', () => {
  it('replaces an identifier with its record, in lists, pages, streams and single records', async () => {
    const team = await make('/teams', { name: 'Red' });
    const id = await make('/tasks', { name: 'Dig', team });
    const plain = await seen(`/tasks/${id}`, { token: ADA });
    const expanded = { ...plain, team: await seen(`/teams/${team}`, { token: ADA }) };
    expect(plain.team).toBe(team);
    expect(expanded.team).toMatchObject({ name: 'Red' });
    expect(expanded.team).not.toHaveProperty('password');
    const read = (path: string, headers = {}) => seen(path, { token: ADA, headers });
    const page = { results: [expanded], count: 1, next: null, prev: null };
    expect(await read(`/tasks/${id}?expand=team`)).toEqual(expanded);
    expect(await read('/tasks?expand=team')).toEqual([expanded]);
    expect(await read('/tasks?expand=team&limit=5')).toEqual(page);
    const ndjson = { Accept: 'application/x-ndjson' };
    expect(await read('/tasks?expand=team', ndjson)).toEqual([expanded]);
    expect(await read('/tasks?expand=team&limit=5', ndjson)).toEqual([expanded]);
    expect(await read('/tasks')).toEqual([plain]);
  });

  it('walks lists of identifiers and of objects, several references at once', async () => {
    const [tea, cake] = [await make('/articles', { name: 'Tea' }), await make('/articles', { name: 'Cake' })];
    const lines = (one: unknown, other: unknown) => [
      { article: one, note: 'a' },
      { note: 'b' },
      { article: other, note: 'c' },
    ];
    await make('/items', { name: 'Order', articles: [cake, tea, cake], lines: lines(tea, cake) });
    const ofTea = { _id: tea, name: 'Tea', mine: false };
    const ofCake = { _id: cake, name: 'Cake', mine: false };
    const all = { articles: [ofCake, ofTea, ofCake], lines: lines(ofTea, ofCake) };
    expect(await seen('/items?expand=articles,lines.article,articles')).toMatchObject([all]);
    expect(await seen('/items?expand=lines.article')).toMatchObject([{ articles: [cake, tea, cake] }]);
  });

  it('shows a record as its own resource shows it to the caller', async () => {
    const article = await make('/articles', { name: 'Tea' });
    for (const token of [ADA, BOB]) {
      await make('/tasks', { name: 'Reader', articles: [article] }, token);
      const [{ articles }] = await seen('/tasks?expand=articles', { token });
      expect(articles).toEqual([{ _id: article, name: 'Tea', mine: token === ADA }]);
    }
  });

  it('adds to the requested fields, which are those of the outer record', async () => {
    const team = await make('/teams', { name: 'Red' });
    const id = await make('/tasks', { name: 'Dig', team });
    const whole = await seen(`/teams/${team}`, { token: ADA });
    const read = (path: string) => seen(path, { token: ADA });
    expect(await read(`/tasks/${id}?fields=name&expand=team`)).toEqual({ _id: id, name: 'Dig', team: whole });
    expect(await read('/tasks?fields=team&expand=team')).toEqual([{ _id: id, team: whole }]);
    expect(await read('/tasks?fields=team')).toEqual([{ _id: id, team }]);
  });

  it('goes one level deep, even in a circle', async () => {
    const first = await make('/items', { name: 'First' });
    const second = await make('/items', { name: 'Second', next: first });
    await app.patch(`/items/${first}`, { next: second }, { token: ADA });
    const expanded = await seen(`/items/${first}?expand=next`);
    expect(expanded).toMatchObject({ name: 'First', next: { name: 'Second', next: first } });
  });
});

describe('an identifier stays if the caller may not read the record', () => {
  it('for whatever reason, beside records that the caller may read', async () => {
    const [ours, theirs] = [await referredBy(app, ADA), await referredBy(app, BOB)];
    const fields = Object.keys(ours);
    const withoutClaims = tokenOf(ACME);
    for (const [token, path, readable] of [
      [ADA, '/tasks', ['team', 'diary', 'leaf']],
      [withoutClaims, '/tasks', ['team']],
      [undefined, '/items', []],
    ] as [string | undefined, string, string[]][]) {
      await app.database.collection(path.slice(1)).deleteMany({});
      for (const references of [theirs, ours]) await make(path, { name: 'x', ...references });
      const records = await seen(`${path}?expand=${fields.join()}`, { token });
      const named = (field: string) => expect.objectContaining({ _id: ours[field], name: 'T' }) as object;
      const shown = readable.map((field) => [field, named(field)]);
      expect([path, records]).toMatchObject([path, [{ ...ours, ...Object.fromEntries(shown) }, theirs]]);
    }
  });

  it('that is not there, or is archived by now', async () => {
    const articles = [new Types.ObjectId().toHexString(), await make('/articles', { name: 'Tea' })];
    const path = `/items/${await make('/items', { name: 'Reader', articles })}?expand=articles`;
    expect((await seen(path)).articles).toMatchObject([articles[0], { name: 'Tea' }]);
    await app.database.collection('articles').updateOne({}, { $set: { deletedAt: new Date() } });
    expect((await seen(path)).articles).toEqual(articles);
  });

  it('that is below a parent that is gone', async () => {
    const { leaf } = await referredBy(app, ADA);
    await make('/tasks', { name: 'a', leaf });
    const [{ leaf: before }] = await seen('/tasks?expand=leaf', { token: ADA });
    // The parent itself, where it is declared as a reference.
    const below = await seen(`/sections/${before.section}/leaves?expand=section`, { token: ADA });
    expect(below).toMatchObject([{ section: { name: 'S' } }]);
    await app.database.collection('sections').deleteMany({});
    expect(await seen('/tasks?expand=leaf', { token: ADA })).toMatchObject([{ leaf }]);
  });
});

describe('a wrong expand', () => {
  const OF_LISTS = 'is not a parameter here. Allowed: offset, limit, after, before, count, sort, fields.';

  it.each([
    ...['', 'name', 'lines', 'lines.note', 'team,', 'team.password', 'next.next', 'reviewer', 'TEAM'],
    ...['__proto__', 'constructor', '$where', 'lines.0.article', '*'],
  ])('%j is refused with those that are allowed', async (value) => {
    const stray = value.endsWith(',') ? '' : value;
    const fault = { parameter: 'expand', detail: `"${stray}" cannot be expanded here. Allowed: ${PATHS}.` };
    for (const path of ['/items', `/items/${await make('/items', { name: 'a' })}`])
      expectInvalid(await app.get(`${path}?expand=${encodeURIComponent(value)}`), path, fault);
  });

  it.each([
    ['/items', 'team&expand=next', 'must be given once.'],
    ['/items/count', 'team', `is not a parameter here. Allowed: ${FILTERS.join(', ')}.`],
    ['/teams', 'tenant', OF_LISTS],
  ])('twice, on a count, or of a resource without references is refused: %s', async (path, value, said) => {
    const answered = await app.get(`${path}?expand=${value}`, { token: ADA });
    expectInvalid(answered, path, { parameter: 'expand', detail: `"expand" ${said}` });
  });
});

it('the ETag of an expanded record is that of the record, works for changes, and never gives a 304', async () => {
  const team = await make('/teams', { name: 'Red' });
  const path = `/tasks/${await make('/tasks', { name: 'Dig', team })}`;
  const { headers } = await app.get(`${path}?expand=team`, { token: ADA });
  const tag = headers.get('etag') ?? '';
  const known = { token: ADA, headers: { 'If-None-Match': tag } };
  expect((await app.get(path, known)).status).toBe(304);
  await app.patch(`/teams/${team}`, { name: 'Blue' }, { token: ADA });
  const again = await app.get(`${path}?expand=team`, known);
  expect([again.status, again.headers.get('etag'), again.body.team.name]).toEqual([200, tag, 'Blue']);
  const change = { token: ADA, headers: { 'If-Match': tag } };
  expect((await app.patch(path, { name: 'Delve' }, change)).status).toBe(200);
});

describe('what expanding costs', () => {
  it('is one query per reference and page, one per level of parents, and none for nothing', async () => {
    await make('/tasks', { name: 'T' });
    const commands = await commandsOf(app, () => app.get('/tasks?expand=team,leaf', { token: ADA }));
    expect(each(commands, 'name')).toEqual(['find tasks']);
    for (const note of ['a', 'b', 'c']) {
      const { team, leaf } = await referredBy(app, ADA);
      const article = await make('/articles', { name: 'A' });
      await make('/tasks', { name: 'T', team, leaf, lines: [{ article, note }] });
    }
    const path = '/tasks?limit=10&expand=team,leaf,lines.article';
    const names = each(await commandsOf(app, () => app.get(path, { token: ADA })), 'name').sort();
    const found = ['articles', 'leaves', 'sections', 'tasks', 'teams'].map((name) => `find ${name}`);
    expect(names).toEqual(['count tasks', ...found]);
  });

  it('is one look-up of an identifier, however often it appears', async () => {
    const article = await make('/articles', { name: 'Tea' });
    await make('/items', { name: 'Many', articles: Array.from({ length: 1_000 }, () => article) });
    const sent = await commandsOf(app, async () => {
      const [{ articles }] = await seen('/items?expand=articles');
      expect(each(articles, 'name')).toEqual(Array(1_000).fill('Tea'));
    });
    expect(each(sent, 'name')).toEqual(['find items', 'find articles']);
    expect(String(sent[1]?.command.filter._id)).toBe(article);
  });
});

describe('a filter by a field of a referred record', () => {
  /** The names of the records that a filter selects: of tasks, with a token, or of items, which are public. */
  async function names(filter: string, token?: string): Promise<unknown[]> {
    const path = token === undefined ? '/items' : '/tasks';
    const { status, body } = await app.get(`${path}?${filter}&sort=createdAt`, { token });
    expect(status).toBe(200);
    return each(body, 'name');
  }

  it('selects the records whose reference names one that matches, and complements the rest', async () => {
    const [red, blue] = [await make('/teams', { name: 'Red' }), await make('/teams', { name: 'Blue' })];
    await make('/tasks', { name: 'a', team: red });
    await make('/tasks', { name: 'b', team: blue });
    await make('/tasks', { name: 'c' });
    for (const [filter, expected] of [
      ['name=Red', 'a'],
      ['name[startsWith]=b', 'b'],
      ['name[in]=Red,Blue', 'ab'],
      ['name[ne]=Red', 'bc'],
      ['name[nin]=Red,Blue', 'c'],
      ['name[exists]=true', 'ab'],
      ['name[exists]=false', 'c'],
      [`_id=${blue}`, 'b'],
    ] as const) {
      expect([filter, await names(`team.${filter}`, ADA)]).toEqual([filter, [...expected]]);
    }
    const ask = async (query: object) =>
      (await app.post('/tasks/query', query, { token: ADA })).body as unknown;
    const where = { or: [{ not: { 'team.name': { exists: true } } }, { 'team.name': 'Blue' }] };
    expect(await ask({ where, sort: ['createdAt'] })).toMatchObject([{ name: 'b' }, { name: 'c' }]);
    const expanded = await ask({ where: { 'team.name': 'Blue' }, expand: ['team'], fields: ['name'] });
    expect(expanded).toMatchObject([{ name: 'b', team: { name: 'Blue' } }]);
    expect((await app.get('/tasks/count?team.name=Red', { token: ADA })).body).toEqual({ count: 1 });
  });

  it('means records that the caller may read, for whatever reason others are not', async () => {
    const references = await referredBy(app, ADA);
    await make('/items', { name: 'x', ...references });
    for (const token of [ADA, BOB]) await make('/tasks', { name: 'x', ...references }, token);
    for (const field of Object.keys(references)) {
      for (const token of [ADA, BOB, undefined]) {
        const mayRead = token === ADA && ['team', 'diary', 'leaf'].includes(field);
        const found = [await names(`${field}.name=T`, token), await names(`${field}.name[ne]=T`, token)];
        expect([field, token, found]).toEqual([field, token, mayRead ? [['x'], []] : [[], ['x']]]);
      }
    }
  });

  it('keeps the cursors of its pages while referred records come and go', async () => {
    const team = await make('/teams', { name: 'Red' });
    for (const name of ['a', 'b', 'c']) await make('/tasks', { name, team });
    const page = (after = '') => app.get(`/tasks?team.name=Red&limit=2${after}`, { token: ADA });
    const first = await page();
    await make('/teams', { name: 'Red' });
    const second = await page(`&after=${first.body.next as string}`);
    expect([first.body.count, second.status, second.body.results.length]).toEqual([3, 200, 1]);
  });

  it('is rejected if more than 1,000 referred records match', async () => {
    const team = (i: number) => ({ name: i < 1_000 ? 'many' : 'more', tenant: new Types.ObjectId(ACME) });
    await app.database.collection('teams').insertMany(Array.from({ length: 1_001 }, (_, i) => team(i)));
    expect((await app.get('/tasks?team.name=many', { token: ADA })).status).toBe(200);
    const { status, body } = await app.get('/tasks?team.name[startsWith]=m', { token: ADA });
    const detail = '"team.name" matches more than 1000 records. Narrow the condition.';
    expect([status, body.code, body.detail]).toEqual([400, 'QUERY_TOO_BROAD', detail]);
  });
});

describe('a filter through a list of references', () => {
  const tags = resource({ name: 'tags', fields: { label: IsText({ max: 20 }) } });
  const reference = IsReference(() => tags.entity);
  const books = feature({
    name: 'books',
    fields: { tags: IsListOf(reference, { max: 9 }) },
    references: { tags: { to: tags.entity } },
    query: { filter: ['tags.label'] },
  });
  const app = useResourceApp(tags, books);

  it('needs one entry that matches, or none', async () => {
    const red = await app.create('/tags', { label: 'red' });
    const blue = await app.create('/tags', { label: 'blue' });
    const both = await app.create('/books', { tags: [red, blue] });
    const one = await app.create('/books', { tags: [blue] });
    const found = async (filter: string) => each((await app.get(`/books?tags.label${filter}`)).body, '_id');
    expect(await found('=red')).toEqual([both]);
    expect(await found('=blue')).toEqual([one, both]);
    expect(await found('[ne]=red')).toEqual([one]);
  });
});

describe('a field of a referred record that nobody may filter by', () => {
  const teams = resource({ name: 'teams', output: (team) => team });
  const players = resource({
    name: 'players',
    fields: { team: IsReference(() => teams.entity) },
    references: { team: { to: teams.entity } },
  });

  it.each([
    ['team.nowhere', 'which is no single value of the class Team'],
    ['team.text', 'it names "text", which the function of output may hide'],
    ['teem.text', 'which the schema does not have'],
  ])('stops the start: %s', async (filter, reason) => {
    const start = createResourceApp(teams, { ...players, query: { filter: [filter] } });
    await expect(start).rejects.toThrow(reason);
  });
});
