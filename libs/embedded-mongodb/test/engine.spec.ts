import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeDocument } from '../src/bson/encode.js';
import { Command, type Engine } from '../src/commands/context.js';
import { Cursors } from '../src/commands/cursors.js';
import { Transactions } from '../src/commands/transactions.js';
import { createIndexes } from '../src/commands/indexes.js';
import { del, update as updateCommand } from '../src/commands/update.js';
import { parseIndex } from '../src/index/definition.js';
import { Query } from '../src/planner/query.js';
import { sortMatches } from '../src/planner/order.js';
import { Catalog } from '../src/catalog/catalog.js';
import type { Collection } from '../src/catalog/collection.js';
import { Store } from '../src/storage/store.js';
import { doc } from './support/bson.js';

const documents = 5_000;

let dir: string;
let store: Store;
let engine: Engine;
let notes: Collection;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'engine-'));
  store = Store.open(dir);
  engine = {
    store,
    catalog: new Catalog(store),
    cursors: new Cursors(),
    transactions: new Transactions(store),
  };
  notes = await store.write(() => engine.catalog.create('test.notes'));
  await store.write(() => {
    for (let _id = 0; _id < documents; _id++) insert(_id, _id);
  });
});
afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

const insert = (_id: number, n: number): number => notes.insert(Buffer.from(encodeDocument(doc({ _id, n }))));

describe('the store', () => {
  it('tells a job when it has written enough', async () => {
    await store.write(() => {
      expect(store.hasRoom).toBe(true);
      notes.insert(Buffer.from(encodeDocument(doc({ _id: -1, body: 'x'.repeat(5_000_000) }))));
      expect(store.hasRoom).toBe(false);
    });
  });

  it('has no open cursor after a query that ended early', () => {
    for (const match of new Query(store, notes, { filter: new Map() }).matches()) if (match) break;
    expect(store['cursors'].size).toBe(0);
  });
});

describe('a sort', () => {
  const bySize = [{ path: 'n', descending: true }];
  const sort = (keep: number, most?: number): unknown[] => {
    const { scan } = new Query(store, notes, { filter: new Map() });
    return [...sortMatches(scan, bySize, keep, most)].flatMap((match) => match?.record ?? []);
  };

  it('returns as many documents as requested', () => {
    const all = sort(Infinity);
    expect(all.length).toBeGreaterThan(100);
    expect(sort(3)).toEqual(all.slice(0, 3));
  });

  it('ends with an error if the documents take too much memory', () => {
    expect(() => sort(Infinity, 1_000)).toThrow('Sort exceeded memory limit of 1000 bytes');
  });

  it('returns a document once, although an index gives one twice that moves meanwhile', () => {
    const { scan } = new Query(store, notes, { filter: doc({ n: { $lt: 3 } }) });
    const met = [...scan.matches()];
    scan.matches = function* () {
      yield* [...met, ...met];
    };
    const records = [...sortMatches(scan, bySize, Infinity)].flatMap((match) => match?.record ?? []);
    expect(records).toHaveLength(3);
  });
});

describe('a document that an index refuses', () => {
  beforeEach(async () => {
    for (const index of [
      { key: { n: 1 }, name: 'n_1', unique: true },
      { key: { 'a.1': 1 }, name: 'a.1_1' },
    ]) {
      const added = await store.write(() => engine.catalog.addIndex(notes, parseIndex(doc(index))));
      await store.write(() => engine.catalog.publish(notes, added));
    }
  });
  const refused = (_id: number, n: number): Buffer => Buffer.from(encodeDocument(doc({ _id, n, a: [0, 1] })));

  it('leaves no trace in the others', async () => {
    const message = 'A number in the path of an index';
    await expect(store.write(() => notes.insert(refused(-1, -1)))).rejects.toThrow(message);
    await store.write(() => insert(-2, -2));
    const record = await store.write(() => insert(-1, -1));
    const bytes = notes.get(record) as Buffer;
    await expect(store.write(() => notes.replace({ record, bytes }, refused(-1, -3)))).rejects.toThrow(
      message,
    );
    await store.write(() => insert(-3, -3));
    await expect(store.write(() => insert(-4, -1))).rejects.toMatchObject({ code: 11_000 });
  });
});

describe('an index that is being built', () => {
  const create = (index: object = { key: { n: 1 }, unique: true }): Promise<unknown> => {
    const indexes = [{ name: 'n_1', ...index }];
    return createIndexes(
      new Command(doc({ createIndexes: 'notes', indexes, $db: 'test' }), new Map(), 1),
      engine,
    );
  };

  /** Resolves when the building of an index has begun. */
  async function begun(): Promise<void> {
    while (!notes.index('n_1')) await store.write(() => undefined);
    expect(notes.index('n_1')?.ready).toBe(false);
  }

  /** One update or delete statement, while the index is being built. */
  const update = (q: object, u: object): Promise<unknown> =>
    updateCommand(
      new Command(doc({ update: 'notes', updates: [{ q, u }], $db: 'test' }), new Map(), 1),
      engine,
    );
  const remove = (q: object): Promise<unknown> =>
    del(new Command(doc({ delete: 'notes', deletes: [{ q, limit: 1 }], $db: 'test' }), new Map(), 1), engine);
  /** How many documents a query finds by the index, and whether a second one with the same value is refused. */
  async function found(n: number): Promise<number> {
    const query = new Query(store, notes, { filter: doc({ n }), hint: 'n_1' });
    const count = [...query.matches()].filter(Boolean).length;
    await expect(store.write(() => insert(-9, n))).rejects.toMatchObject({ code: 11_000 });
    return count;
  }

  it.each<[string, () => Promise<unknown>]>([
    ['deleted', () => remove({ _id: -1 })],
    ['updated', () => update({ _id: -1 }, { $set: { n: -5 } })],
    ['replaced', () => update({ _id: -1 }, { n: -5 })],
    ['given an array', () => update({ _id: -1 }, { n: [-5, -6] })],
  ])('keeps what others hold when a duplicate is %s', async (_, resolve) => {
    await store.write(() => insert(-1, 5));
    const built = create();
    await begun();
    await Promise.all([built, resolve()]);
    expect(await found(5)).toBe(1);
  });

  it('keeps a document whose duplicate is gone when the build ends', async () => {
    await store.write(() => insert(-1, 5));
    const built = create();
    await begun();
    await Promise.all([built, remove({ _id: 5 })]);
    expect(await found(5)).toBe(1);
  });

  it('does not affect writers, and fails if a duplicate remains', async () => {
    const failing = expect(create()).rejects.toMatchObject({ code: 11_000 });
    await begun();
    await store.write(() => insert(-1, 0));
    await update({ _id: -1 }, { $set: { read: true } });
    await failing;
    expect(notes.counters.documents).toBe(documents + 1);
  });

  it('succeeds if documents that it cannot index are removed in time', async () => {
    await store.write(() => notes.insert(Buffer.from(encodeDocument(doc({ _id: -1, a: [], b: [] })))));
    const built = create({ key: { a: 1, b: 1 } });
    await begun();
    await Promise.all([built, update({ _id: -1 }, { $set: { a: 1 } })]);
    expect(notes.index('n_1')?.ready).toBe(true);
  });

  it('exists for all who asked for it', async () => {
    await Promise.all([create(), create(), create()]);
    expect(notes.index('n_1')?.ready).toBe(true);
  });

  it('fails for all who asked for it if it cannot be built', async () => {
    await store.write(() => insert(-1, documents - 1));
    const first = create();
    const failing = expect(first).rejects.toMatchObject({ code: 11_000 });
    await begun();
    await expect(create()).rejects.toMatchObject({ code: 11_000 });
    await failing;
    expect(notes.index('n_1')).toBeUndefined();
  });

  it('fails if it is dropped', async () => {
    const failing = expect(create()).rejects.toMatchObject({ code: 276 });
    await begun();
    await store.write(() =>
      notes.indexes.slice(1).forEach((index) => engine.catalog.dropIndex(notes, index)),
    );
    await failing;
  });

  it('fails if its collection is dropped', async () => {
    const failing = expect(create()).rejects.toMatchObject({ code: 276 });
    await begun();
    await store.write(() => engine.catalog.drop(notes));
    await failing;
  });
});
