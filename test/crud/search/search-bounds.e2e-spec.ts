/** @mongodb */
import type { mongo } from 'mongoose';
import { IsText } from '../../../src/common/fields/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { useTestApp } from '../../support/test-app.js';
import { acme } from '../../support/tenants.js';
import { feature } from '../../support/resource.js';

/** Different words of a few characters. */
const words = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => `w${(first + i).toString(36)}`).join(' ');

describe('a record with very many words', () => {
  const app = useResourceApp(
    feature({
      name: 'books',
      fields: {
        title: IsText({ max: 80 }),
        content: IsText({ max: 1_000_000, optional: true }),
        notes: IsText({ max: 1_000_000, optional: true }),
      },
      query: { search: ['title', 'content', 'notes'] },
      bulk: true,
    }),
  );
  beforeEach(() => app.empty());

  const fault = (field: string) => ({
    pointer: `/${field}`,
    detail: `"${field}" has too many different words: at most 60000 of a record can be searched. Send less text.`,
  });

  it('is rejected beyond the bound, however it is sent', async () => {
    const created = await app.post('/books', { title: 'a', content: words(60_000) });
    expect([created.status, created.body.errors]).toEqual([400, [fault('content')]]);
    const both = await app.post('/books', { title: 'a', content: words(40_000), notes: words(20_000) });
    expect([both.status, both.body.errors]).toEqual([400, [fault('notes')]]);
    const one = `/books/${(await app.post('/books', { title: 'a' })).body._id}`;
    const headers = { Prefer: 'return=representation' };
    for (const sent of [{}, { headers }]) {
      const { status, body } = await app.patch(one, { content: words(60_001) }, sent);
      expect([status, body.errors]).toEqual([400, [fault('content')]]);
    }
    const operations = [{ create: { title: 'a', content: words(60_000) } }, { create: { title: 'b' } }];
    const { body } = await app.post('/books/bulk', { operations });
    expect(body.results).toMatchObject([{ status: 400, errors: [fault('content')] }, { status: 201 }]);
    expect((await app.get('/books/count')).body).toEqual({ count: 2 });
  });

  it('can repeat its words as often as it likes', async () => {
    expect((await app.post('/books', { title: 'a', content: 'tea '.repeat(200_000) })).status).toBe(201);
  });

  it('keeps its place in a bulk request', async () => {
    const operations = ['a', 'b', 'c', 'd'].map((title) => ({
      create: { title, ...('bd'.includes(title) && { content: words(2_000) }) },
    }));
    await app.post('/books/bulk', { operations });
    const titles = ((await app.get('/books?fields=title')).body as { title: string }[]).map(
      ({ title }) => title,
    );
    expect(titles).toEqual(['d', 'c', 'b', 'a']);
  });

  it('waits for others like it, and nobody else does', async () => {
    const inserted: string[] = [];
    app.connection.getClient().on('commandStarted', ({ command }: mongo.CommandStartedEvent) => {
      const books = command.insert === 'books' ? (command.documents as { title: string }[]) : [];
      inserted.push(...books.map(({ title }) => title));
    });
    const large = Array.from({ length: 6 }, (_, i) => {
      return app.post('/books', { title: 'large', content: words(20_000, i * 20_000) });
    });
    expect((await app.post('/books', { title: 'small' })).status).toBe(201);
    for (const { status } of await Promise.all(large)) expect([201, 503]).toContain(status);
    expect(inserted.indexOf('small')).toBeLessThan(3);
    expect((await app.get('/books?fields=title')).body[0].title).toBe('large');
  });
});

describe('a post of as many words as its content can have', () => {
  const app = useTestApp();

  it('is stored, and found by each', async () => {
    const codes = Array.from({ length: 50_000 }, (_, i) => (i < 20_000 ? 0x4e00 + i : 0x20000 + i - 20_000));
    const letters = codes.map((code) => String.fromCodePoint(code));
    const content = letters.join(' ');
    const { status, body } = await app.post('/posts/api', { title: 'Letters', content }, { token: acme });
    expect([[...content].length, status]).toEqual([99_999, 201]);
    for (const letter of [letters.at(0), letters.at(25_000), letters.at(-1)]) {
      const found = await app.get(`/posts/api?q=${encodeURIComponent(String(letter))}&fields=title`);
      expect(found.body).toEqual([{ _id: body._id, title: 'Letters' }]);
    }
  });
});
