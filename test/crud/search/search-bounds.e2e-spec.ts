/** @mongodb */
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { scopeOf } from '../../../src/common/tenancy/index.js';
import { created, each } from '../../support/records.js';
import { serviceIn } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { serviceWith, useTestApp } from '../../support/test-app.js';
import { acme } from '../../support/tenants.js';
import { resource } from '../../support/resource.js';

const long = IsText({ max: 1_000_000, optional: true });
const books = resource({
  name: 'books',
  fields: { title: IsText({ max: 80 }), content: long, notes: long },
  query: { search: ['title', 'content', 'notes'] },
  bulk: true,
});
const app = useTestApp({ root: serviceWith({ imports: [CrudModule.forFeature(books)] }) });
beforeEach(() => app.empty());

/** Different words of a few characters. */
const words = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => `w${(first + i).toString(36)}`).join(' ');

describe('a record with very many words', () => {
  const titles = async () => each((await app.get('/books?fields=title')).body, 'title');
  const fault = (field: string) => ({
    pointer: `/${field}`,
    detail: `"${field}" has too many different words: at most 60000 of a record can be searched. Send less text.`,
  });

  it('is rejected beyond the bound, however it is sent', async () => {
    const tooMany = { title: 'a', content: words(60_000) };
    const one = `/books/${await created(app, '/books', { title: 'a' })}`;
    const headers = { Prefer: 'return=representation' };
    for (const [answer, field] of [
      [await app.post('/books', tooMany), 'content'],
      [await app.post('/books', { title: 'a', content: words(40_000), notes: words(20_000) }), 'notes'],
      [await app.patch(one, { content: words(60_001) }), 'content'],
      [await app.patch(one, { content: words(60_001) }, { headers }), 'content'],
    ] as const) {
      expect([answer.status, answer.body.errors]).toEqual([400, [fault(field)]]);
    }
    const { body } = await app.post('/books/bulk', {
      operations: [{ create: tooMany }, { create: { title: 'b' } }],
    });
    expect(body.results).toMatchObject([{ status: 400, errors: [fault('content')] }, { status: 201 }]);
    expect((await app.get('/books/count')).body).toEqual({ count: 2 });
  });

  it('can repeat its words as often as it likes', async () => {
    await created(app, '/books', { title: 'a', content: 'tea '.repeat(200_000) });
  });

  it('keeps its place in a bulk request', async () => {
    const create = (title: string) => ({
      create: { title, ...('bd'.includes(title) && { content: words(2_000) }) },
    });
    await app.post('/books/bulk', { operations: ['a', 'b', 'c', 'd'].map(create) });
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
      await created(app, '/books', { title: 'small' });
      for (const { status } of await Promise.all(large)) expect([201, 503]).toContain(status);
    });
    const inserts = sent.filter(({ name }) => name === 'insert books');
    const inserted = inserts.flatMap(({ command }) => each(command.documents, 'title'));
    expect(inserted.indexOf('small')).toBeLessThan(3);
    expect((await titles())[0]).toBe('large');
  });
});

it('a post of as many words as its content can have is stored, and found by each', async () => {
  const codes = Array.from({ length: 50_000 }, (_, i) => (i < 20_000 ? 0x4e00 + i : 0x20000 + i - 20_000));
  const letters = codes.map((code) => String.fromCodePoint(code));
  const content = letters.join(' ');
  expect([...content]).toHaveLength(99_999);
  const _id = await created(app, '/posts/api', { title: 'Letters', content }, acme);
  for (const letter of [letters.at(0), letters.at(25_000), letters.at(-1)]) {
    const found = await app.get(`/posts/api?q=${encodeURIComponent(String(letter))}&fields=title`);
    expect(found.body).toEqual([{ _id, title: 'Letters' }]);
  }
});
