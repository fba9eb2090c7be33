/** @mongodb */
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsListOf, IsReference } from '../../../src/common/fields/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import type { TestApp } from '../../support/test-app.js';
import { resource, feature, type Outline } from '../../support/resource.js';

/** Races of each kind of write with a delete. `REFERENCE_RACES=100` makes it 1,200 races in all. */
const RACES = Number(process.env.REFERENCE_RACES ?? 5);

const shelves = resource({ name: 'shelves', class: 'Shelf', query: { filter: ['text'] } });
const referring = (name: string, options: Partial<Outline>) =>
  feature({
    name,
    fields: {
      shelf: IsReference(() => shelves.entity, { optional: true }),
      copies: IsListOf(
        IsReference(() => shelves.entity),
        { max: 9, optional: true },
      ),
    },
    ...options,
  });

const NDJSON = { 'Content-Type': 'application/x-ndjson' };

type Write = (app: TestApp, shelf: string, book: string) => Promise<number>;

/** Ways to make a book refer to a shelf; each returns its status, or the highest one of its parts. */
const WRITES: Record<string, Write> = {
  create: async (app, shelf) => (await app.post('/books', { shelf })).status,
  update: async (app, shelf, book) => (await app.patch(`/books/${book}`, { copies: [shelf] })).status,
  bulk: async (app, shelf, book) => {
    const operations = [
      { create: { shelf } },
      { update: { _id: book, changes: { shelf } } },
      { create: { copies: [shelf, shelf] } },
    ];
    const { text } = await app.post('/books/bulk', { operations });
    return worstOf((JSON.parse(text) as { results: Result[] }).results);
  },
  import: async (app, shelf) => {
    const body = `${JSON.stringify({ shelf })}\n${JSON.stringify({ copies: [shelf] })}\n`;
    const { text } = await app.request('POST', '/books/import', { body, headers: NDJSON });
    const lines = text.trim().split('\n');
    return worstOf(lines.map((line) => JSON.parse(line) as Result));
  },
};

interface Result {
  status: number;
}

const worstOf = (results: Result[]) => Math.max(...results.map(({ status }) => status));

describe.each(['restrict', 'unset', 'cascade'] as const)('a reference with onDelete %s', (onDelete) => {
  const references = {
    shelf: { to: shelves.entity, onDelete },
    copies: { to: shelves.entity, onDelete },
  };
  const app = useResourceApp(
    CrudModule.forFeature(shelves),
    referring('books', { references, bulk: true, import: true }),
  );

  const created = async (path: string, body: object) => (await app.post(path, body)).body._id as string;

  it.each(Object.entries(WRITES))('never dangles after a delete during a(n) %s', async (_kind, write) => {
    for (let race = 0; race < RACES; race++) {
      const [shelf, book] = [await created('/shelves', { text: 'A' }), await created('/books', {})];
      const [status, deleted] = await Promise.all([write(app, shelf, book), app.del(`/shelves/${shelf}`)]);
      expect([200, 201, 400]).toContain(status);
      expect([200, 409]).toContain(deleted.status);
      const id = new Types.ObjectId(shelf);
      expect(await app.database.collection('shelves').countDocuments({ _id: id })).toBe(
        deleted.status === 200 ? 0 : 1,
      );
      if (deleted.status === 409) continue;
      const referring = { $or: [{ shelf: id }, { copies: id }] };
      expect(await app.database.collection('books').countDocuments(referring)).toBe(0);
    }
  });
});

describe('a record that others refer to', () => {
  /** What hooks do next. */
  let beforeBook: () => Promise<unknown>;
  let beforeLabelGoes: () => Promise<unknown>;
  const app = useResourceApp(
    CrudModule.forFeature(shelves),
    referring('books', {
      references: { shelf: { to: shelves.entity, onDelete: 'restrict' } },
      hooks: { beforeCreate: async () => void (await beforeBook()) },
    }),
    referring('labels', {
      references: { shelf: { to: shelves.entity, onDelete: 'cascade' } },
      hooks: { beforeDel: async () => void (await beforeLabelGoes()) },
    }),
  );
  let shelf: string;
  beforeEach(async () => {
    beforeBook = beforeLabelGoes = () => Promise.resolve();
    shelf = (await app.post('/shelves', { text: 'A' })).body._id as string;
  });

  const stored = () => app.database.collection('shelves').findOne({ _id: new Types.ObjectId(shelf) });

  it('cannot be referred to once it is deleted, even if it was there when the write began', async () => {
    beforeBook = () => app.del(`/shelves/${shelf}`);
    const { status, body } = await app.post('/books', { shelf });
    expect([status, body.errors]).toEqual([
      400,
      [{ pointer: '/shelf', detail: '"shelf" names no shelf that you can use.' }],
    ]);
  });

  it('is not deleted if it is referred to after the deletion has looked', async () => {
    await app.post('/labels', { shelf });
    beforeLabelGoes = () => app.post('/books', { shelf });
    expect((await app.del(`/shelves/${shelf}`)).body.code).toBe('STILL_REFERENCED');
    expect(await stored()).not.toBeNull();
  });

  it('can be deleted after a write that did not refer to it in the end', async () => {
    expect((await app.post('/books', { shelf, title: 'x' })).status).toBe(400);
    const other = '665f1c2ab7e3a90d4c8b4567';
    expect((await app.post('/labels', { shelf, copies: ['no id'] })).status).toBe(400);
    expect((await app.post('/books', { shelf: other })).status).toBe(400);
    expect((await app.del(`/shelves/${shelf}`)).status).toBe(200);
  });

  it.each([
    ['stays while a process that has ended may still be storing a referrer', 60_000, 409, 'WRITE_CONFLICT'],
    ['can be deleted once it cannot', -1, 200, undefined],
  ])('%s', async (_name, lasts, status, code) => {
    const hold = { _id: new Types.ObjectId(), until: new Date(Date.now() + lasts) };
    await app.database.collection('shelves').updateMany({}, { $set: { _holds: { count: 1, by: [hold] } } });
    const deleted = await app.del(`/shelves/${shelf}`);
    expect([deleted.status, deleted.body.code]).toEqual([status, code]);
  });

  it('shows nothing of the writes that referred to it', async () => {
    const before = await app.get(`/shelves/${shelf}`);
    await app.post('/labels', { shelf });
    expect(await stored()).toMatchObject({ _holds: { count: 1, by: [] }, __v: 0 });
    const after = await app.get(`/shelves/${shelf}`);
    expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')]);
    expect((await app.get('/shelves?_holds=1')).status).toBe(400);
    expect((await app.post('/shelves', { text: 'B', _holds: {} })).status).toBe(400);
    const texts = [
      await app.get('/shelves'),
      await app.get('/shelves?text=A&limit=5'),
      await app.patch(`/shelves/${shelf}`, { text: 'C' }, { headers: { Prefer: 'return=representation' } }),
      await app.del(`/shelves/${shelf}`),
    ].map(({ text }) => text);
    expect(texts.join()).not.toContain('_holds');
  });
});
