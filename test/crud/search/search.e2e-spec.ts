/** @mongodb */
import { EventEmitter2 } from '@nestjs/event-emitter';
import { expectInvalid } from '../../support/problems.js';
import { plansOf } from '../../support/query-plans.js';
import { recipes } from '../../support/recipes.js';
import { useResourceApp } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { useTestApp } from '../../support/test-app.js';

const token = await tokenOf(ACME);

const encoded = (q: string) => encodeURIComponent(q);

describe('a search of todos', () => {
  const app = useTestApp();
  beforeEach(() => app.empty());

  const titles = async (q: string, more = '') =>
    ((await app.get(`/todos?q=${encoded(q)}${more}`)).body as { title: string }[]).map(({ title }) => title);
  const finds = async (q: string) => (await titles(q)).length > 0;

  it('finds every word and phrase, and excludes those with a minus', async () => {
    await app.post('/todos', { title: 'Green tea', description: 'with fresh lemon' });
    await app.post('/todos', { title: 'Lemon tea', description: 'green, not black' });
    await app.post('/todos', { title: 'Coffee' });
    expect(await titles('tea')).toEqual(['Lemon tea', 'Green tea']);
    expect(await titles('tea fresh')).toEqual(['Green tea']);
    expect(await titles('"green tea"')).toEqual(['Green tea']);
    expect(await titles('tea -"green tea"')).toEqual(['Lemon tea']);
    expect(await titles('-black green')).toEqual(['Green tea']);
    expect(await titles('-"green tea" -coffee lemon')).toEqual(['Lemon tea']);
    // Words may occur in different fields, a phrase within one.
    expect(await titles('"tea with"')).toEqual([]);
    expect(await titles('te')).toEqual([]);
    expect(await titles('teas')).toEqual([]);
  });

  it('works with filters, orders, pages and counts', async () => {
    for (const title of ['Tea c', 'Tea a', 'Tea b', 'Coffee']) {
      await app.post('/todos', { title, completed: title === 'Tea b' });
    }
    expect(await titles('tea')).toEqual(['Tea b', 'Tea a', 'Tea c']);
    expect(await titles('tea', '&sort=title')).toEqual(['Tea a', 'Tea b', 'Tea c']);
    expect(await titles('tea', '&sort=-title&completed=false')).toEqual(['Tea c', 'Tea a']);
    const page = await app.get('/todos?q=tea&sort=title&limit=1&offset=1');
    expect(page.body).toMatchObject({ results: [{ title: 'Tea b' }], count: 3 });
    expect((await app.get('/todos/count?q=tea&completed=false')).body).toEqual({ count: 2 });
  });

  it.each([
    ['case', 'STRASSE', 'straße'],
    ['capital ß', 'strasse', 'STRAẞE'],
    ['accents', 'creme brulee', 'Crème brûlée'],
    ['accents that are searched', 'crème', 'creme'],
    ['normal forms', 'Am\u00e9lie', 'Ame\u0301lie'],
    ['the dotless i', 'istanbul', '\u0131stanbul'],
    ['the dotted capital I', 'istanbul', '\u0130STANBUL'],
    ['the final sigma', '\u03bf\u03b4\u03bf\u03c3', '\u039f\u0394\u039f\u03a3'],
    ['ligatures', 'fine aero', '\ufb01ne \u00c6ro'],
    ['strokes', 'lodz', '\u0141\u00f3d\u017a'],
    ['forms of digits', 'h2o 10', 'H\u2082O \uff11\uff10'],
    ['points of Hebrew', '\u05e9\u05dc\u05d5\u05dd', '\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd'],
    ['soft hyphens', 'paperback', 'paper\u00adback'],
    ['conjoined Hangul', '\ud55c\uad6d\uc5b4', '\ud55c\uad6d\uc5b4'.normalize('NFD')],
  ])('does not regard %s', async (_, q, title) => {
    await app.post('/todos', { title });
    expect(await titles(q)).toEqual([title]);
  });

  it.each([
    ['a hyphen', 'b a', 'a-b', true],
    ['an apostrophe', "don't", 'Don\u2019t', true],
    ['an apostrophe, as a phrase', '"don\'t"', 't don', false],
    ['an underscore', 'file', 'file_name', true],
    ['an emoji', 'tea', 'tea\u{1f375}time', true],
    ['a trade mark', 'foo', 'Foo\u2122', true],
    ['nothing: other digits are others', '34', '\u0663\u0664', false],
    ['nothing: a voiced kana is another', '\u304b\u304d', '\u304b\u304e', false],
    [
      'nothing: vowel signs belong to a word',
      '\u0939\u093f\u0928',
      '\u0939\u093f\u0928\u094d\u0926\u0940',
      false,
    ],
    ['nothing: a run of CJK is one word', '\u6771\u4eac', '\u6771\u4eac\u90fd', false],
  ])('parts words at %s', async (_, q, title, found) => {
    await app.post('/todos', { title });
    expect(await finds(q)).toBe(found);
  });

  it('reads a minus only at the start of a word or phrase', async () => {
    await app.post('/todos', { title: 'alpha beta gamma' });
    expect(await finds('alpha-beta')).toBe(true);
    expect(await finds('alpha - beta')).toBe(true);
    expect(await finds('alpha-"beta"')).toBe(true);
    expect(await finds('alpha -beta')).toBe(false);
    expect(await finds('alpha --beta')).toBe(false);
    expect(await finds('"alpha"-beta')).toBe(false);
    expect(await finds('alpha -nothing-beta')).toBe(false);
    expect(await finds('alpha -"beta alpha"')).toBe(true);
    expect(await finds('alpha "" "!!"')).toBe(true);
    expect(await finds('alpha -alpha')).toBe(false);
  });

  it('tells long words apart', async () => {
    const long = 'x'.repeat(100);
    await app.post('/todos', { title: `${long}1` });
    await app.post('/todos', { title: `${long}2 end` });
    expect(await titles(`${long}1`)).toEqual([`${long}1`]);
    expect(await titles(`end -${long}1`)).toEqual([`${long}2 end`]);
    expect(await titles(`"${long}2 end"`)).toEqual([`${long}2 end`]);
    expect(await titles(long)).toEqual([]);
  });

  it.each([
    ['"tea', '"q" has a quote without its counterpart. Put a phrase between two of them.'],
    ['-tea', '"q" must have a word or phrase to find: letters or digits, without a minus in front.'],
    ['', '"q" must have a word or phrase to find: letters or digits, without a minus in front.'],
    [
      '\u{1f375} "" -',
      '"q" must have a word or phrase to find: letters or digits, without a minus in front.',
    ],
    ['x'.repeat(201), '"q" has at most 200 characters.'],
    ['"'.repeat(201), '"q" has at most 200 characters.'],
  ])('refuses %j', async (q, detail) => {
    expectInvalid(await app.get(`/todos?q=${encoded(q)}`), '/todos', { parameter: 'q', detail });
    expectInvalid(await app.get(`/todos/count?q=${encoded(q)}`), '/todos/count', { parameter: 'q', detail });
  });

  it('counts characters, not their bytes', async () => {
    await app.post('/todos', { title: '\u{1d4b3}'.repeat(199) });
    expect(await finds('\u{1d4b3}'.repeat(199))).toBe(true);
  });

  it('accepts anything as text', async () => {
    await app.post('/todos', { title: 'a b c' });
    for (const q of [
      '.*',
      '^a$',
      'a\\',
      '(a|b)',
      '[a',
      'a\0b',
      '"a\0b"',
      '$where a',
      '{"$ne":1} a',
      'a'.repeat(200),
    ]) {
      const { status } = await app.get(`/todos?q=${encoded(q)}`);
      expect([q, status]).toEqual([q, q === '.*' ? 400 : 200]);
    }
    expect(await finds('"a.b"')).toBe(true);
    expect(await finds('"a.c"')).toBe(false);
    expect((await app.get(`/todos?q=${'"'.repeat(200)}`)).status).toBe(400);
    expect((await app.get('/todos?q=%ED%A0%80')).status).toBe(400);
    expect(
      (await app.get(`/todos?q=${encoded(Array.from({ length: 100 }, (_, i) => i % 10).join(' '))}`)).status,
    ).toBe(200);
    expect((await app.get('/todos?q=a&q=b')).status).toBe(400);
    expect((await app.get('/todos?q[ne]=a')).status).toBe(400);
    expect((await app.get(`/todos/${'0'.repeat(24)}?q=a`)).status).toBe(400);
  });

  it('reads the index of the words, in the order of the list', async () => {
    for (let i = 0; i < 20; i++) await app.post('/todos', { title: `common ${i === 7 ? 'rareword' : i}` });
    for (const q of ['rareword', 'common', '"common rareword" -tea']) {
      const [plan] = await plansOf(app, 'todos', () => app.get(`/todos?q=${encoded(q)}`));
      expect(plan?.stages).toContain('IXSCAN');
      expect(plan?.stages).not.toContain('COLLSCAN');
      expect(plan?.stages).not.toContain('SORT');
    }
  });

  it('does not count with a plan that MongoDB has cached before the first words', async () => {
    for (const path of ['/todos/count?q=one+two', '/todos?limit=5&q=one+two']) {
      // Other modules read in the background.
      const sent = (await commandsOf(app, () => app.get(path))).filter(({ name }) => name.endsWith(' todos'));
      const counts = sent.filter(({ name }) => name !== 'find todos');
      expect(counts.map(({ name }) => name)).toEqual(['count todos']);
    }
  });
});

describe('a search of posts', () => {
  const app = useTestApp();

  const count = async (q: string) => (await app.get(`/posts/api/count?q=${encoded(q)}`)).body.count as number;

  it('reads title, content and tags; a phrase is within one tag', async () => {
    const post = { title: 'Release', content: 'What is new', tags: ['big news', 'today'] };
    await app.post('/posts/api', post, { token });
    expect(await count('release new today')).toBe(1);
    expect(await count('"big news"')).toBe(1);
    expect(await count('"news today"')).toBe(0);
    expect(await count('"release what"')).toBe(0);
    expect(await count(ACME)).toBe(0);
  });

  it('never finds archived posts', async () => {
    const { body } = await app.post('/posts/api', { title: 'Forgotten' }, { token });
    expect(await count('forgotten')).toBe(1);
    await app.del(`/posts/api/${body._id}`, { token });
    expect(await count('forgotten')).toBe(0);
    expect((await app.get('/posts/api?q=forgotten')).body).toEqual([]);
  });

  it('finds words in a post of maximum length', async () => {
    const content = Array.from({ length: 14_000 }, (_, i) => `w${i % 3_000}`)
      .join(' ')
      .slice(0, 100_000);
    const { status } = await app.post('/posts/api', { title: 'Long', content }, { token });
    expect(status).toBe(201);
    expect(await count('w2999')).toBe(1);
    expect(await count('"w2000 w2001 w2002"')).toBe(1);
    expect(await count('"w2000 w2002"')).toBe(0);
  });
});

describe('a search of a resource of its own', () => {
  const app = useResourceApp(recipes());
  beforeEach(() => app.empty());

  const create = async (body: object) =>
    (await app.post('/recipes', { name: 'Recipe', ...body }, { token })).body._id as string;
  const patch = (id: string, body: object) => app.patch(`/recipes/${id}`, body, { token });
  const count = async (q: string, as = token) =>
    (await app.get(`/recipes/count?q=${encoded(q)}`, { token: as })).body.count as number;

  it('follows every kind of change', async () => {
    const id = await create({
      notes: 'one two',
      labels: ['red hot', 'cold'],
      box: { label: 'top', place: 'left' },
    });
    expect(await count('one red top')).toBe(1);
    await patch(id, { notes: null, labels: ['blue'] });
    expect(await count('one')).toBe(0);
    expect(await count('red')).toBe(0);
    expect(await count('blue top recipe')).toBe(1);
    await patch(id, { box: { label: 'bottom' } });
    expect([await count('top'), await count('bottom')]).toEqual([0, 1]);
    await patch(id, { box: { label: null } });
    expect(await count('bottom')).toBe(0);
    await patch(id, { box: { label: 'again' } });
    await patch(id, { box: null, steps: [{ text: 'stir well' }, { text: 'wait' }] });
    expect([await count('again'), await count('"stir well" wait'), await count('"well wait"')]).toEqual([
      0, 1, 0,
    ]);
    await app.del(`/recipes/${id}`, { token });
    expect(await count('recipe')).toBe(0);
  });

  it('finds what hooks have written', async () => {
    const id = await create({ author: 'hook', notes: 'plain' });
    expect([await count('plain'), await count('seasoned')]).toEqual([0, 1]);
    await patch(id, { name: 'Other' });
    expect([await count('seasoned'), await count('"stirred by"')]).toEqual([0, 1]);
  });

  it('reveals nothing about hidden fields, fields that are not searched, and other tenants', async () => {
    await create({ author: 'Ada', box: { place: 'cellar' } });
    const other = await tokenOf(GLOBEX);
    await app.post('/recipes', { name: 'Theirs' }, { token: other });
    for (const q of ['hiddenword', 'ada', 'cellar', 'theirs']) expect([q, await count(q)]).toEqual([q, 0]);
    expect(await count('theirs', other)).toBe(1);
    expect(await count('recipe -theirs -hiddenword')).toBe(1);
  });

  it('leaves no trace in records, revisions and events', async () => {
    const events: unknown[] = [];
    const emitter = app.app.get(EventEmitter2, { strict: false });
    for (const hook of ['afterCreate', 'afterUpdate', 'afterDel'])
      emitter.on(`recipes.${hook}`, (event) => events.push(event));
    const created = await app.post(
      '/recipes',
      { name: 'Tea' },
      { token, headers: { Prefer: 'return=representation' } },
    );
    expect(created.headers.get('etag')).toBe('"0"');
    const path = `/recipes/${created.body._id}`;
    const updated = await app.patch(
      path,
      { name: 'Coffee' },
      { token, headers: { Prefer: 'return=representation' } },
    );
    expect(updated.headers.get('etag')).toBe('"1"');
    expect(Object.keys(updated.body)).toEqual(['_id', 'name', 'tenant', 'createdAt', 'updatedAt']);
    expect((await app.get(path, { token })).body).toEqual(updated.body);
    expect((await app.get('/recipes?q=coffee', { token })).text).not.toContain('_words');
    await app.del(path, { token });
    expect(events).toMatchObject([{ changed: ['name', 'tenant'] }, { changed: ['name'] }, { changed: [] }]);
    expect(JSON.stringify(events)).not.toMatch(/_words|COFFEE/);
    for (const query of ['_words=a', 'sort=_words', 'fields=_words']) {
      expect((await app.get(`/recipes?${query}`, { token })).status).toBe(400);
    }
    expect((await app.post('/recipes', { name: 'x', _words: {} }, { token })).status).toBe(400);
  });
});
