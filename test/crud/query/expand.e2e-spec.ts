/** @mongodb */
import { Types } from 'mongoose';
import { expectInvalid } from '../../support/problems.js';
import { createReferringApp, FILTERS, type NameInput, PATHS } from '../../support/referring-app.js';
import { commandsOf, type SentCommand } from '../../support/sent-commands.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { type TestRequest, useApp } from '../../support/test-app.js';

const [acme, globex] = await Promise.all([
  tokenOf(ACME, { sub: 'ada', realm: 'r' }),
  tokenOf(GLOBEX, { sub: 'bob', realm: 'r' }),
]);

const app = useApp(createReferringApp);
beforeEach(() => app.empty());

/** Stores a record and gives its identifier. */
async function created(path: string, body: object, token = acme): Promise<string> {
  return (await app.post(path, body, { token })).body._id as string;
}

/** The records of a path, without a token. */
async function seen(path: string, sent?: TestRequest) {
  const { status, body } = await app.get(path, sent);
  expect(status).toBe(200);
  return body;
}

describe('expand', () => {
  it('replaces an identifier with its record, in lists, pages, streams and single records', async () => {
    const team = await created('/teams', { name: 'Red' });
    const id = await created('/tasks', { name: 'Dig', team });
    const plain = await seen(`/tasks/${id}`, { token: acme });
    const expanded = { ...plain, team: await seen(`/teams/${team}`, { token: acme }) };
    expect(plain.team).toBe(team);
    expect(expanded.team).toMatchObject({ name: 'Red' });
    expect(expanded.team).not.toHaveProperty('password');
    const read = (path: string, headers = {}) => seen(path, { token: acme, headers });
    expect(await read(`/tasks/${id}?expand=team`)).toEqual(expanded);
    expect(await read('/tasks?expand=team')).toEqual([expanded]);
    expect(await read('/tasks?expand=team&limit=5')).toEqual({
      results: [expanded],
      count: 1,
      next: null,
      prev: null,
    });
    const ndjson = { Accept: 'application/x-ndjson' };
    expect(await read('/tasks?expand=team', ndjson)).toEqual([expanded]);
    expect(await read('/tasks?expand=team&limit=5', ndjson)).toEqual([expanded]);
    expect(await read('/tasks')).toEqual([plain]);
  });

  it('walks lists of identifiers and of objects, several references at once', async () => {
    const [tea, cake] = [
      await created('/articles', { name: 'Tea' }),
      await created('/articles', { name: 'Cake' }),
    ];
    const lines = [{ article: tea, note: 'a' }, { note: 'b' }, { article: cake, note: 'c' }];
    await created('/items', { name: 'Order', articles: [cake, tea, cake], lines });
    const ofTea = { _id: tea, name: 'Tea', mine: false };
    const ofCake = { _id: cake, name: 'Cake', mine: false };
    expect(await seen('/items?expand=articles,lines.article,articles')).toMatchObject([
      {
        articles: [ofCake, ofTea, ofCake],
        lines: [{ article: ofTea, note: 'a' }, { note: 'b' }, { article: ofCake, note: 'c' }],
      },
    ]);
    expect(await seen('/items?expand=lines.article')).toMatchObject([{ articles: [cake, tea, cake] }]);
  });

  it('shows a record as its own resource shows it to the caller', async () => {
    const article = await created('/articles', { name: 'Tea' });
    await created('/tasks', { name: 'Ours', articles: [article] });
    await created('/tasks', { name: 'Theirs', articles: [article] }, globex);
    for (const [token, mine] of [
      [acme, true],
      [globex, false],
    ] as const) {
      const [{ articles }] = await seen('/tasks?expand=articles', { token });
      expect(articles).toEqual([{ _id: article, name: 'Tea', mine }]);
    }
  });

  it('adds to the requested fields, which are those of the outer record', async () => {
    const team = await created('/teams', { name: 'Red' });
    const id = await created('/tasks', { name: 'Dig', team });
    const whole = await seen(`/teams/${team}`, { token: acme });
    const read = async (path: string) =>
      (await fetch(app.url + path, { headers: { Authorization: `Bearer ${acme}` } })).json();
    expect(await read(`/tasks/${id}?fields=name&expand=team`)).toEqual({ _id: id, name: 'Dig', team: whole });
    expect(await read('/tasks?fields=team&expand=team')).toEqual([{ _id: id, team: whole }]);
    expect(await read('/tasks?fields=team')).toEqual([{ _id: id, team }]);
  });

  it('goes one level deep, even in a circle', async () => {
    const first = await created('/items', { name: 'First' });
    const second = await created('/items', { name: 'Second', next: first });
    await app.patch(`/items/${first}`, { next: second }, { token: acme });
    expect(await seen(`/items/${first}?expand=next`)).toMatchObject({
      name: 'First',
      next: { name: 'Second', next: first },
    });
  });
});

describe('an identifier stays if the caller may not read the record', () => {
  const nowhere = new Types.ObjectId().toHexString();

  it('that is not there', async () => {
    await created('/items', { name: 'Lost', articles: [nowhere] });
    expect(await seen('/items?expand=articles')).toMatchObject([{ articles: [nowhere] }]);
  });

  it("of another tenant, beside the tenant's own", async () => {
    const ours = await created('/teams', { name: 'Red' });
    const theirs = await created('/teams', { name: 'Blue' }, globex);
    await created('/tasks', { name: 'a', team: theirs });
    await created('/tasks', { name: 'b', team: ours });
    const [b, a] = await seen('/tasks?expand=team', { token: acme });
    expect([b.team.name, a.team]).toEqual(['Red', theirs]);
  });

  it('that takes a token, for a caller without one', async () => {
    const team = await created('/teams', { name: 'Red' });
    const id = await created('/items', { name: 'Public', team });
    expect((await seen(`/items/${id}?expand=team`)).team).toBe(team);
    expect((await seen('/items?expand=team'))[0].team).toBe(team);
  });

  it('that is archived, or archived by now', async () => {
    const article = await created('/articles', { name: 'Tea' });
    const id = await created('/items', { name: 'Reader', articles: [article] });
    expect((await seen(`/items/${id}?expand=articles`)).articles).toMatchObject([{ name: 'Tea' }]);
    const archived = { $set: { deletedAt: new Date() } };
    await app.database.collection('articles').updateOne({ _id: new Types.ObjectId(article) }, archived);
    expect((await seen(`/items/${id}?expand=articles`)).articles).toEqual([article]);
  });

  it('that belongs to another person by a claim', async () => {
    const [mine, theirs] = [
      await created('/diaries', { name: 'Mine' }),
      await created('/diaries', { name: 'Theirs' }, globex),
    ];
    await created('/tasks', { name: 'a', diary: theirs });
    await created('/tasks', { name: 'b', diary: mine });
    const [b, a] = await seen('/tasks?expand=diary', { token: acme });
    expect([b.diary.name, a.diary]).toEqual(['Mine', theirs]);
    const withoutClaim = await tokenOf(ACME);
    expect((await seen('/tasks?expand=diary', { token: withoutClaim }))[0].diary).toBe(mine);
  });

  it('that is below a parent that the caller may not read', async () => {
    const leafOf = async (token: string) => {
      const section = await created('/sections', { name: 'S' }, token);
      return { section, leaf: await created(`/sections/${section}/leaves`, { name: 'L' }, token) };
    };
    const [ours, theirs] = [await leafOf(acme), await leafOf(globex)];
    await created('/tasks', { name: 'a', leaf: theirs.leaf });
    await created('/tasks', { name: 'b', leaf: ours.leaf });
    const leavesOf = async () =>
      (await seen('/tasks?expand=leaf', { token: acme })).map(({ leaf }: { leaf: unknown }) => leaf);
    expect(await leavesOf()).toEqual([
      expect.objectContaining({ name: 'L', section: ours.section }),
      theirs.leaf,
    ]);
    // The parent itself, where it is declared as a reference.
    const path = `/sections/${ours.section}/leaves?expand=section`;
    expect(await seen(path, { token: acme })).toMatchObject([{ section: { name: 'S' } }]);
    await app.database.collection('sections').deleteMany({});
    expect(await leavesOf()).toEqual([ours.leaf, theirs.leaf]);
  });

  it('that is isolated by a parameter of its own path', async () => {
    const shop = await created('/regions/north/shops', { name: 'Corner' });
    await created('/items', { name: 'a', shop });
    expect((await seen('/items?expand=shop'))[0].shop).toBe(shop);
  });

  it('that guards protect, or that no route reads', async () => {
    const [memo, draft] = [await created('/memos', { name: 'M' }), await created('/drafts', { name: 'D' })];
    await created('/items', { name: 'a', memo, draft });
    expect((await seen('/items?expand=memo,draft'))[0]).toMatchObject({ memo, draft });
  });
});

describe('a wrong expand', () => {
  it.each([
    ...['', 'name', 'lines', 'lines.note', 'team,', 'team.password', 'next.next', 'reviewer', 'TEAM'],
    ...['__proto__', 'constructor', '$where', 'lines.0.article', '*'],
  ])('%j is refused with those that are allowed', async (value) => {
    const stray = value.endsWith(',') ? '' : value;
    const fault = { parameter: 'expand', detail: `"${stray}" cannot be expanded here. Allowed: ${PATHS}.` };
    const query = `?expand=${encodeURIComponent(value)}`;
    expectInvalid(await app.get(`/items${query}`), '/items', fault);
    const id = await created('/items', { name: 'a' });
    expectInvalid(await app.get(`/items/${id}${query}`), `/items/${id}`, fault);
  });

  it('given twice, on a count, or of a resource without references is refused', async () => {
    const twice = { parameter: 'expand', detail: '"expand" must be given once.' };
    expectInvalid(await app.get('/items?expand=team&expand=next'), '/items', twice);
    const unknown = (allowed: string) => ({
      parameter: 'expand',
      detail: `"expand" is not a parameter here${allowed}`,
    });
    expectInvalid(
      await app.get('/items/count?expand=team'),
      '/items/count',
      unknown(`. Allowed: ${FILTERS.join(', ')}.`),
    );
    const ofTeams = unknown('. Allowed: offset, limit, after, before, count, sort, fields.');
    expectInvalid(await app.get('/teams?expand=tenant', { token: acme }), '/teams', ofTeams);
  });
});

describe('the ETag of an expanded record', () => {
  it('is that of the record, works for changes, and never gives a 304', async () => {
    const team = await created('/teams', { name: 'Red' });
    const path = `/tasks/${await created('/tasks', { name: 'Dig', team })}`;
    const { headers } = await app.get(`${path}?expand=team`, { token: acme });
    const tag = headers.get('etag') ?? '';
    const known = { token: acme, headers: { 'If-None-Match': tag } };
    expect((await app.get(path, known)).status).toBe(304);
    await app.patch(`/teams/${team}`, { name: 'Blue' }, { token: acme });
    const again = await app.get(`${path}?expand=team`, known);
    expect([again.status, again.headers.get('etag'), again.body.team.name]).toEqual([200, tag, 'Blue']);
    const change = { token: acme, headers: { 'If-Match': tag } };
    expect((await app.patch(path, { name: 'Delve' }, change)).status).toBe(200);
  });
});

const namesOf = (commands: readonly SentCommand[]) => commands.map(({ name }) => name);

describe('what expanding costs', () => {
  it('is one query per reference and page, and one per level of parents', async () => {
    for (let i = 0; i < 3; i++) {
      const section = await created('/sections', { name: `S${i}` });
      await created('/tasks', {
        name: `T${i}`,
        team: await created('/teams', { name: `Team ${i}` }),
        leaf: await created(`/sections/${section}/leaves`, { name: 'L' }),
        lines: [{ article: await created('/articles', { name: 'A' }), note: 'n' }],
      });
    }
    const commands = await commandsOf(app, () =>
      app.get('/tasks?limit=10&expand=team,leaf,lines.article', { token: acme }),
    );
    expect(namesOf(commands).sort()).toEqual(
      ['count tasks', 'find articles', 'find leaves', 'find sections', 'find tasks', 'find teams'].sort(),
    );
  });

  it('is no query if there is nothing to expand', async () => {
    await created('/tasks', { name: 'T' });
    const commands = await commandsOf(app, () => app.get('/tasks?expand=team,leaf', { token: acme }));
    expect(namesOf(commands)).toEqual(['find tasks']);
  });

  it('looks up an identifier once, however often it appears', async () => {
    const article = await created('/articles', { name: 'Tea' });
    await created('/items', { name: 'Many', articles: Array.from({ length: 1_000 }, () => article) });
    const sent = await commandsOf(app, async () => {
      const [{ articles }] = await seen('/items?expand=articles');
      expect(articles).toHaveLength(1_000);
      expect(articles.every(({ name }: NameInput) => name === 'Tea')).toBe(true);
    });
    expect(sent.map(({ name }) => name)).toEqual(['find items', 'find articles']);
    expect(String(sent[1]?.command.filter._id)).toBe(article);
  });
});
