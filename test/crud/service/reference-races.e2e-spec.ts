/** @mongodb */
import { Types } from 'mongoose';
import { IsListOf, IsReference } from '../../../src/common/fields/index.js';
import { NOWHERE } from '../../support/bulk.js';
import { useResourceApp } from '../../support/resource-app.js';
import { feature, type Outline, resource } from '../../support/resource.js';

/** Races of each kind of write with a delete. `REFERENCE_RACES=100` makes it 1,200 races in all. */
const RACES = Number(process.env.REFERENCE_RACES ?? 2);

const shelves = resource({ name: 'shelves', class: 'Shelf', query: { filter: ['text'] } });
class BookInput {
  @IsReference(() => shelves.entity, { optional: true }) shelf?: string;
  @IsListOf(IsReference(() => shelves.entity), { max: 9, optional: true }) copies?: string[];
}
const ON_DELETE = ['restrict', 'unset', 'cascade'] as const;
const referring = (onDelete: (typeof ON_DELETE)[number], outline?: Partial<Outline>) => {
  const to = { to: shelves.entity, onDelete };
  const books = { name: onDelete, class: `Book${onDelete}`, fields: BookInput, bulk: true, import: true };
  return feature({ ...books, references: { shelf: to, copies: to }, ...outline });
};

/** What hooks do next. */
let beforeBook: () => Promise<void>;
let beforeLabelGoes: () => Promise<void>;
const app = useResourceApp(
  shelves,
  ...ON_DELETE.map((onDelete) => referring(onDelete)),
  referring('restrict', { name: 'books', class: 'Book', hooks: { beforeCreate: () => beforeBook() } }),
  referring('cascade', { name: 'labels', class: 'Label', hooks: { beforeDel: () => beforeLabelGoes() } }),
);
let shelf: string;
beforeEach(async () => {
  beforeBook = beforeLabelGoes = () => Promise.resolve();
  shelf = await app.create('/shelves', { text: 'A' });
});

const worstOf = (results: { status: number }[]) => Math.max(...results.map(({ status }) => status));

/** Ways to make a book refer to the shelf; each returns its status, or the highest one of its parts. */
const WRITES: Record<string, (path: string, shelf: string, book: string) => Promise<number>> = {
  create: async (path, shelf) => (await app.post(path, { shelf })).status,
  update: async (path, shelf, book) => (await app.patch(`${path}/${book}`, { copies: [shelf] })).status,
  bulk: async (path, shelf, book) => {
    const operations = [
      { create: { shelf } },
      { update: { _id: book, changes: { shelf } } },
      { create: { copies: [shelf, shelf] } },
    ];
    return worstOf((await app.post(`${path}/bulk`, { operations })).body.results);
  },
  import: async (path, shelf) => {
    const lines = `${JSON.stringify({ shelf })}\n${JSON.stringify({ copies: [shelf] })}\n`;
    const headers = { 'Content-Type': 'application/x-ndjson' };
    return worstOf((await app.post(`${path}/import`, lines, { headers })).body);
  },
};

describe.each(ON_DELETE)('a reference with onDelete %s', (name) => {
  it.each(Object.entries(WRITES))('never dangles after a delete during a(n) %s', async (_kind, write) => {
    for (let race = 0; race < RACES; race++) {
      const [going, book] = [await app.create('/shelves', { text: 'A' }), await app.create(`/${name}`, {})];
      const [status, deleted] = await Promise.all([
        write(`/${name}`, going, book),
        app.del(`/shelves/${going}`),
      ]);
      expect([200, 201, 400]).toContain(status);
      expect([200, 409]).toContain(deleted.status);
      const _id = new Types.ObjectId(going);
      const isLeft = deleted.status === 409;
      expect(await app.database.collection('shelves').countDocuments({ _id })).toBe(Number(isLeft));
      if (isLeft) continue;
      const dangling = { $or: [{ shelf: _id }, { copies: _id }] };
      expect(await app.database.collection(name).countDocuments(dangling)).toBe(0);
    }
  });
});

describe('a record that others refer to', () => {
  const stored = () => app.database.collection('shelves').findOne({ _id: new Types.ObjectId(shelf) });

  it('cannot be referred to once it is deleted, even if it was there when the write began', async () => {
    beforeBook = async () => void (await app.del(`/shelves/${shelf}`));
    const { status, body } = await app.post('/books', { shelf });
    const errors = [{ pointer: '/shelf', detail: '"shelf" names no shelf that you can use.' }];
    expect([status, body.errors]).toEqual([400, errors]);
  });

  it('is not deleted if it is referred to after the deletion has looked', async () => {
    await app.create('/labels', { shelf });
    beforeLabelGoes = async () => void (await app.post('/books', { shelf }));
    expect((await app.del(`/shelves/${shelf}`)).body.code).toBe('STILL_REFERENCED');
    expect(await stored()).not.toBeNull();
  });

  it('can be deleted after a write that did not refer to it in the end', async () => {
    expect((await app.post('/books', { shelf, title: 'x' })).status).toBe(400);
    expect((await app.post('/labels', { shelf, copies: ['no id'] })).status).toBe(400);
    expect((await app.post('/books', { shelf: NOWHERE })).status).toBe(400);
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
    await app.create('/labels', { shelf });
    expect(await stored()).toMatchObject({ _holds: { count: 1, by: [] }, __v: 0 });
    const after = await app.get(`/shelves/${shelf}`);
    expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')]);
    expect((await app.get('/shelves?_holds=1')).status).toBe(400);
    expect((await app.post('/shelves', { text: 'B', _holds: {} })).status).toBe(400);
    const headers = { Prefer: 'return=representation' };
    const changed = await app.patch(`/shelves/${shelf}`, { text: 'C' }, { headers });
    for (const answer of [changed, await app.get('/shelves'), await app.get('/shelves?text=C&limit=5')])
      expect([answer.text.includes('"C"'), answer.text.includes('_holds')]).toEqual([true, false]);
  });
});
