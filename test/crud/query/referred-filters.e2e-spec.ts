/** @mongodb */
import { Types } from 'mongoose';
import { IsListOf, IsReference, IsText } from '../../../src/common/fields/index.js';
import { each } from '../../support/records.js';
import { ADA, BOB, createReferringApp, referredBy } from '../../support/referring-app.js';
import { feature, resource } from '../../support/resource.js';
import { createResourceApp, useResourceApp } from '../../support/resource-app.js';
import { ACME } from '../../support/tenants.js';
import { useApp } from '../../support/test-app.js';

describe('a filter by a field of a referred record', () => {
  const app = useApp(createReferringApp);
  beforeEach(() => app.empty());

  const make = (path: string, body: object, token = ADA) => app.create(path, body, token);
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
