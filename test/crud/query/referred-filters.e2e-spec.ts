/** @mongodb */
import { Types } from 'mongoose';
import { IsListOf, IsReference, IsText } from '../../../src/common/fields/index.js';
import { createReferringApp } from '../../support/referring-app.js';
import { feature, resource } from '../../support/resource.js';
import { createResourceApp } from '../../support/resource-app.js';
import { CrudModule } from '../../../src/common/crud/index.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { useApp } from '../../support/test-app.js';

const [acme, globex] = await Promise.all([
  tokenOf(ACME, { sub: 'ada', realm: 'r' }),
  tokenOf(GLOBEX, { sub: 'bob', realm: 'r' }),
]);

describe('a filter by a field of a referred record', () => {
  const app = useApp(createReferringApp);
  beforeEach(() => app.empty());

  const created = async (path: string, body: object, token = acme) =>
    (await app.post(path, body, { token })).body._id as string;
  /** The names of the records that a filter selects: of tasks, with a token, or of items, which are public. */
  async function names(filter: string, token?: string): Promise<string[]> {
    const path = token === undefined ? '/items' : '/tasks';
    const { status, body } = await app.get(`${path}?${filter}&sort=createdAt`, { token });
    expect(status).toBe(200);
    return (body as unknown as { name: string }[]).map(({ name }) => name);
  }

  it('selects the records whose reference names one that matches, and complements the rest', async () => {
    const [red, blue] = [await created('/teams', { name: 'Red' }), await created('/teams', { name: 'Blue' })];
    await created('/tasks', { name: 'a', team: red });
    await created('/tasks', { name: 'b', team: blue });
    await created('/tasks', { name: 'c' });
    expect(await names('team.name=Red', acme)).toEqual(['a']);
    expect(await names('team.name[startsWith]=b', acme)).toEqual(['b']);
    expect(await names('team.name[in]=Red,Blue', acme)).toEqual(['a', 'b']);
    expect(await names('team.name[ne]=Red', acme)).toEqual(['b', 'c']);
    expect(await names('team.name[nin]=Red,Blue', acme)).toEqual(['c']);
    expect(await names('team.name[exists]=true', acme)).toEqual(['a', 'b']);
    expect(await names('team.name[exists]=false', acme)).toEqual(['c']);
    expect(await names(`team._id=${blue}`, acme)).toEqual(['b']);
    const where = { or: [{ not: { 'team.name': { exists: true } } }, { 'team.name': 'Blue' }] };
    const { body } = await app.post('/tasks/query', { where, sort: ['createdAt'] }, { token: acme });
    expect(body).toMatchObject([{ name: 'b' }, { name: 'c' }]);
    const expanded = await app.post(
      '/tasks/query',
      { where: { 'team.name': 'Blue' }, expand: ['team'], fields: ['name'] },
      { token: acme },
    );
    expect(expanded.body).toMatchObject([{ name: 'b', team: { name: 'Blue' } }]);
    expect((await app.get('/tasks/count?team.name=Red', { token: acme })).body).toEqual({ count: 1 });
  });

  it('means records that the caller may read, for whatever reason others are not', async () => {
    const team = await created('/teams', { name: 'T' });
    const diary = await created('/diaries', { name: 'T' });
    const section = await created('/sections', { name: 'S' });
    const leaf = await created(`/sections/${section}/leaves`, { name: 'T' });
    const shop = await created('/regions/north/shops', { name: 'T' });
    const [memo, draft] = [await created('/memos', { name: 'T' }), await created('/drafts', { name: 'T' })];
    const referring = { name: 'x', team, diary, leaf, shop, memo, draft };
    await created('/items', referring);
    for (const token of [acme, globex]) await created('/tasks', referring, token);
    for (const [path, readers] of [
      ['team', [acme]],
      ['diary', [acme]],
      ['leaf', [acme]],
      ['shop', []],
      ['memo', []],
      ['draft', []],
    ] as const) {
      for (const token of [acme, globex, undefined]) {
        const mayRead = readers.some((reader) => reader === token);
        const found = await names(`${path}.name=T`, token);
        expect([path, token, found]).toEqual([path, token, mayRead ? ['x'] : []]);
        const others = await names(`${path}.name[ne]=T`, token);
        expect([path, token, others]).toEqual([path, token, mayRead ? [] : ['x']]);
      }
    }
  });

  it('keeps the cursors of its pages while referred records come and go', async () => {
    const team = await created('/teams', { name: 'Red' });
    for (const name of ['a', 'b', 'c']) await created('/tasks', { name, team });
    const page = (after = '') => app.get(`/tasks?team.name=Red&limit=2${after}`, { token: acme });
    const first = await page();
    await created('/teams', { name: 'Red' });
    const second = await page(`&after=${first.body.next as string}`);
    expect([first.body.count, second.status, second.body.results.length]).toEqual([3, 200, 1]);
  });

  it('is rejected if more than 1,000 referred records match', async () => {
    const team = (i: number) => ({ name: i < 1_000 ? 'many' : 'more', tenant: new Types.ObjectId(ACME) });
    await app.database.collection('teams').insertMany(Array.from({ length: 1_001 }, (_, i) => team(i)));
    expect((await app.get('/tasks?team.name=many', { token: acme })).status).toBe(200);
    const response = await app.get('/tasks?team.name[startsWith]=m', { token: acme });
    expect([response.status, response.body.code, response.body.detail]).toEqual([
      400,
      'QUERY_TOO_BROAD',
      '"team.name" matches more than 1000 records. Narrow the condition.',
    ]);
  });
});

describe('a filter through a list of references', () => {
  const tags = resource({ name: 'tags', fields: { label: IsText({ max: 20 }) } });
  const app = useApp(() =>
    createResourceApp(
      CrudModule.forFeature(tags),
      feature({
        name: 'books',
        fields: {
          tags: IsListOf(
            IsReference(() => tags.entity),
            { max: 9 },
          ),
        },
        references: { tags: { to: tags.entity } },
        query: { filter: ['tags.label'] },
      }),
    ),
  );

  it('needs one entry that matches, or none', async () => {
    const [red, blue] = await Promise.all(
      ['red', 'blue'].map(async (label) => (await app.post('/tags', { label })).body._id as string),
    );
    const both = (await app.post('/books', { tags: [red, blue] })).body._id as string;
    const one = (await app.post('/books', { tags: [blue] })).body._id as string;
    const found = async (filter: string) =>
      ((await app.get(`/books?${filter}`)).body as unknown as { _id: string }[]).map(({ _id }) => _id).sort();
    expect(await found('tags.label=red')).toEqual([both]);
    expect(await found('tags.label=blue')).toEqual([both, one].sort());
    expect(await found('tags.label[ne]=red')).toEqual([one]);
  });
});

describe('a field of a referred record that nobody may filter by', () => {
  const teams = resource({
    name: 'teams',
    kept: { secret: IsText({ max: 9, optional: true }) },
    output: (team) => team,
  });
  const starting = (filter: string) =>
    createResourceApp(
      CrudModule.forFeature(teams),
      feature({
        name: 'players',
        fields: { team: IsReference(() => teams.entity) },
        references: { team: { to: teams.entity } },
        query: { filter: [filter] as never },
      }),
    );

  it.each([
    ['team.nowhere', 'which is no single value of Team'],
    ['team.text', 'it names "text", which the function of output may hide'],
    ['teem.text', 'which the schema does not have'],
  ])('stops the start: %s', async (filter, reason) => {
    await expect((async () => starting(filter))()).rejects.toThrow(reason);
  });
});
