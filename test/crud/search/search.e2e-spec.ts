/** @mongodb */
import { CrudModule, IsText, schemaOf, scopeOf } from '../../../src/index.js';
import { onEvent } from '../../support/on-event.js';
import { passTime, releaseClock, stopClock } from '../../support/own-clock.js';
import { expectInvalid } from '../../support/problems.js';
import { plansOf } from '../../support/query-plans.js';
import { recipes } from '../../support/recipes.js';
import { each } from '../../support/records.js';
import { resource } from '../../support/resource.js';
import { serviceIn } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { ACME, acme as token, globex } from '../../support/tenants.js';
import { serviceWith, useTestApp } from '../../support/test-app.js';

const long = IsText({ max: 1_000_000, optional: true });
const books = resource({
  name: 'books',
  fields: { title: IsText({ max: 80 }), content: long, notes: long },
  query: { search: ['title', 'content', 'notes'] },
  bulk: true,
});
const hooked = resource({
  name: 'hooked',
  fields: { title: IsText({ max: 80 }) },
  query: { search: ['title'] },
});
hooked.schema = schemaOf(hooked.entity).pre('save', () => undefined);

const app = useTestApp({
  root: serviceWith({ imports: [recipes(), ...[books, hooked].map((one) => CrudModule.forFeature(one))] }),
});
beforeEach(() => app.empty());

const search = (path: string, q: string, as?: string) =>
  app.get(`${path}?q=${encodeURIComponent(q)}`, { token: as });

describe('a search of todos', () => {
  const todo = (title: string, more = {}) => app.create('/todos', { title, ...more });
  const titles = async (q: string) => each((await search('/todos', q)).body, 'title');
  const finds = async (q: string) => (await titles(q)).length > 0;

  it('works with filters and orders, in lists and counts', async () => {
    for (const title of ['Tea c', 'Tea a', 'Tea b', 'Coffee'])
      await todo(title, { completed: title === 'Tea b' });
    const sorted = await app.get('/todos?q=tea&sort=-title&completed=false');
    expect(each(sorted.body, 'title')).toEqual(['Tea c', 'Tea a']);
    expect((await app.get('/todos/count?q=tea&completed=false')).body).toEqual({ count: 2 });
  });

  it('reads a minus only at the start of a word or phrase', async () => {
    await todo('alpha beta gamma');
    const found = ['alpha-beta', 'alpha - beta', 'alpha-"beta"', 'alpha -"beta alpha"', 'alpha "" "!!"'];
    const missed = ['alpha -beta', 'alpha --beta', '"alpha"-beta', 'alpha -nothing-beta', 'alpha -alpha'];
    for (const q of found) expect([q, await finds(q)]).toEqual([q, true]);
    for (const q of missed) expect([q, await finds(q)]).toEqual([q, false]);
  });

  it('tells long words apart, and counts their characters, not their bytes', async () => {
    const [long, letters] = ['x'.repeat(100), '\u{1d4b3}'.repeat(199)];
    for (const title of [`${long}1`, `${long}2 end`, letters]) await todo(title);
    expect(await titles(letters)).toEqual([letters]);
    expect(await titles(`${long}1`)).toEqual([`${long}1`]);
    expect(await titles(`end -${long}1`)).toEqual([`${long}2 end`]);
    expect(await titles(`"${long}2 end"`)).toEqual([`${long}2 end`]);
    expect(await titles(long)).toEqual([]);
  });

  const nothing = '"q" must have a word or phrase to find: letters or digits, without a minus in front.';
  it.each<[q: string, detail: string]>([
    ['"tea', '"q" has a quote without its counterpart. Put a phrase between two of them.'],
    ...['-tea', '', '.*', '\u{1f375} "" -', '"'.repeat(200)].map((q): [string, string] => [q, nothing]),
    ...['x', '"'].map((one): [string, string] => [one.repeat(201), '"q" has at most 200 characters.']),
  ])('refuses %j', async (q, detail) => {
    for (const path of ['/todos', '/todos/count'])
      expectInvalid(await search(path, q), path, { parameter: 'q', detail });
  });

  it.each([
    ...['^a$', 'a\\', '(a|b)', '[a', 'a\0b', '"a\0b"', '$where a', '{"$ne":1} a', 'a'.repeat(200)],
    '1 '.repeat(100),
  ])('accepts %j as text', async (q) => {
    expect((await search('/todos', q)).status).toBe(200);
  });

  it('reads its phrases as words alone, and its parameter as text, once, in lists', async () => {
    await todo('a b c');
    expect([await finds('"a.b"'), await finds('"a.c"')]).toEqual([true, false]);
    for (const path of ['?q=%ED%A0%80', '?q=a&q=b', '?q[ne]=a', `/${'0'.repeat(24)}?q=a`])
      expect([path, (await app.get(`/todos${path}`)).status]).toEqual([path, 400]);
  });

  it('reads the index of the words, in the order of the list', async () => {
    for (let i = 0; i < 20; i++) await todo(`common ${i === 7 ? 'rareword' : i}`);
    for (const q of ['rareword', 'common', '"common rareword" -tea']) {
      const [plan] = await plansOf(app, 'todos', () => search('/todos', q));
      expect(plan?.stages).toContain('IXSCAN');
      expect(plan?.stages).toEqual(expect.not.arrayContaining([expect.stringMatching(/COLLSCAN|SORT/)]));
    }
  });

  it('does not count with a plan that MongoDB has cached before the first words', async () => {
    for (const path of ['todos/count?', 'todos?limit=5&', 'hooked/count?']) {
      const [, name = ''] = /^(\w+)/.exec(path) ?? [];
      const sent = each(await commandsOf(app, () => app.get(`/${path}q=one+two`)), 'name') as string[];
      // Other modules read in the background.
      const counts = sent.filter((one) => one.endsWith(` ${name}`) && one !== `find ${name}`);
      expect(counts).toEqual([`count ${name}`]);
    }
  });
});

describe('a search of posts', () => {
  const count = async (q: string) => (await search('/posts/api/count', q)).body.count as number;

  it('reads title, content and tags, a phrase within one tag, and finds no archived post', async () => {
    const post = { title: 'Release', content: 'What is new', tags: ['big news', 'today'] };
    const id = await app.create('/posts/api', post, token);
    for (const q of ['release new today', '"big news"']) expect([q, await count(q)]).toEqual([q, 1]);
    for (const q of ['"news today"', '"release what"', ACME]) expect([q, await count(q)]).toEqual([q, 0]);
    await app.del(`/posts/api/${id}`, { token });
    expect([await count('release'), (await app.get('/posts/api?q=release')).body]).toEqual([0, []]);
  });

  it('finds each word and phrase of a content with as many words as it can have', async () => {
    const codes = Array.from({ length: 50_000 }, (_, i) => (i < 20_000 ? 0x4e00 + i : 0x20000 + i - 20_000));
    const letters = codes.map((code) => String.fromCodePoint(code));
    const content = letters.join(' ');
    expect([...content]).toHaveLength(99_999);
    await app.create('/posts/api', { title: 'Letters', content }, token);
    for (const place of [0, 25_000, -1]) expect(await count(letters.at(place) ?? '')).toBe(1);
    const [first, second, third] = letters.slice(30_000);
    expect([await count(`"${first} ${second} ${third}"`), await count(`"${first} ${third}"`)]).toEqual([
      1, 0,
    ]);
  });
});

describe('a search of a resource of its own', () => {
  const create = (body: object) => app.create('/recipes', { name: 'Recipe', ...body }, token);
  const count = async (q: string, as = token) => (await search('/recipes/count', q, as)).body.count as number;

  it('finds what hooks have written', async () => {
    const id = await create({ author: 'hook', notes: 'plain' });
    expect([await count('plain'), await count('seasoned')]).toEqual([0, 1]);
    await app.patch(`/recipes/${id}`, { name: 'Other' }, { token });
    expect([await count('seasoned'), await count('"stirred by"')]).toEqual([0, 1]);
  });

  it('reveals nothing about hidden fields, fields that are not searched, and other tenants', async () => {
    await create({ author: 'Ada', box: { place: 'cellar' } });
    await app.create('/recipes', { name: 'Theirs' }, globex);
    for (const q of ['hiddenword', 'ada', 'cellar', 'theirs']) expect([q, await count(q)]).toEqual([q, 0]);
    expect(await count('theirs', globex)).toBe(1);
    expect(await count('recipe -theirs -hiddenword')).toBe(1);
  });

  it('leaves no trace in records, revisions and events', async () => {
    const events = ['afterCreate', 'afterUpdate', 'afterDel'].map((hook) => onEvent(app, `recipes.${hook}`));
    const whole = { token, headers: { Prefer: 'return=representation' } };
    const made = await app.post('/recipes', { name: 'Tea' }, whole);
    const path = `/recipes/${made.body._id}`;
    const changed = await app.patch(path, { name: 'Coffee' }, whole);
    expect([made, changed].map(({ headers }) => headers.get('etag'))).toEqual(['"0"', '"1"']);
    expect(Object.keys(changed.body)).toEqual(['_id', 'name', 'tenant', 'createdAt', 'updatedAt']);
    expect((await app.get(path, { token })).body).toEqual(changed.body);
    expect((await search('/recipes', 'coffee', token)).text).not.toContain('_words');
    await app.del(path, { token });
    const changes = [['name', 'tenant'], ['name'], []];
    expect(events).toMatchObject(changes.map((changed) => [{ changed }]));
    expect(JSON.stringify(events)).not.toMatch(/_words|COFFEE/);
    for (const query of ['_words=a', 'sort=_words', 'fields=_words'])
      expect((await app.get(`/recipes?${query}`, { token })).status).toBe(400);
    expect((await app.post('/recipes', { name: 'x', _words: {} }, { token })).status).toBe(400);
  });
});

/** Different words of a few characters. */
const words = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => `w${(first + i).toString(36)}`).join(' ');

describe('a record with very many words', () => {
  const titles = async () => each((await app.get('/books?fields=title')).body, 'title');
  const fault = (field: string) => ({
    pointer: `/${field}`,
    detail: `"${field}" has too many different words: at most 60000 of a record can be searched. Send less text.`,
  });

  it('is rejected beyond the bound, however it is sent, and can repeat its words', async () => {
    const tooMany = { title: 'a', content: words(60_000) };
    const one = `/books/${await app.create('/books', { title: 'a', content: 'tea '.repeat(200_000) })}`;
    const headers = { Prefer: 'return=representation' };
    const both = { title: 'a', content: words(40_000), notes: words(20_000) };
    expectInvalid(await app.post('/books', tooMany), '/books', fault('content'));
    expectInvalid(await app.post('/books', both), '/books', fault('notes'));
    expectInvalid(await app.patch(one, { content: words(60_001) }), one, fault('content'));
    expectInvalid(await app.patch(one, { content: words(60_001) }, { headers }), one, fault('content'));
    const operations = [{ create: tooMany }, { create: { title: 'b' } }];
    const { body } = await app.post('/books/bulk', { operations });
    expect(body.results).toMatchObject([{ status: 400, errors: [fault('content')] }, { status: 201 }]);
    expect((await app.get('/books/count')).body).toEqual({ count: 2 });
  });

  it('keeps its place in a bulk request', async () => {
    const books = [...'abcd'].map((title) => ({ title, content: 'bd'.includes(title) ? words(2_000) : 'x' }));
    await app.post('/books/bulk', { operations: books.map((create) => ({ create })) });
    expect(await titles()).toEqual(['d', 'c', 'b', 'a']);
  });

  it('shares no command with many others, even if its text is too short to wait for', async () => {
    const service = serviceIn(app, books.entity);
    const values = Array.from({ length: 60 }, (_, i) => ({ title: 'b', content: words(650, i * 650) }));
    const sent = await commandsOf(app, () =>
      Promise.all(values.map((one) => service.create(scopeOf({}), one))),
    );
    const inserts = sent.filter(({ name }) => name === 'insert books');
    const sizes = inserts.map(({ command }) => (command.documents as object[]).length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(60);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(31);
  });

  it('waits for others like it, and nobody else does', async () => {
    const sent = await commandsOf(app, async () => {
      const large = Array.from({ length: 6 }, (_, i) =>
        app.post('/books', { title: 'large', content: words(20_000, i * 20_000) }),
      );
      await app.create('/books', { title: 'small' });
      for (const { status } of await Promise.all(large)) expect([201, 503]).toContain(status);
    });
    const inserts = sent.filter(({ name }) => name === 'insert books');
    const inserted = inserts.flatMap(({ command }) => each(command.documents, 'title'));
    expect(inserted.indexOf('small')).toBeLessThan(3);
    expect((await titles())[0]).toBe('large');
  });

  it('leaves the database to others before the next one like it', async () => {
    stopClock('setTimeout');
    const sent = await commandsOf(app, async () => {
      const contents = [words(20_000), words(20_000, 20_000)];
      const large = contents.map((content) => app.post('/books', { title: 'large', content }));
      await Promise.race(large).then(() => app.get('/books/count'));
      // Longer than the first one took, and less than a call may.
      passTime(3_000);
      await Promise.all(large);
    }).finally(releaseClock);
    const names = sent.map(({ name }) => name).filter((name) => name.endsWith(' books'));
    expect(names).toEqual(['insert books', expect.stringMatching('count|aggregate'), 'insert books']);
  });
});
