import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeDocument } from '../src/bson/encode.js';
import { Command, type Engine } from '../src/commands/context.js';
import { Cursors } from '../src/commands/cursors.js';
import { createIndexes } from '../src/commands/indexes.js';
import { parseIndex } from '../src/index/definition.js';
import { Query } from '../src/planner/query.js';
import { Catalog } from '../src/storage/catalog.js';
import type { Collection } from '../src/storage/collection.js';
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
  engine = { store, catalog: new Catalog(store), cursors: new Cursors() };
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

  it('has no cursor open behind a query that ended early', () => {
    for (const match of new Query(store, notes, { filter: new Map() }).matches()) if (match) break;
    expect(store['cursors'].size).toBe(0);
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
  const ambiguous = (_id: number, n: number): Buffer =>
    Buffer.from(encodeDocument(doc({ _id, n, a: [0, { 1: 'x' }] })));

  it('leaves no trace in the others', async () => {
    const message = 'Ambiguous field name';
    await expect(store.write(() => notes.insert(ambiguous(-1, -1)))).rejects.toThrow(message);
    await store.write(() => insert(-2, -2));
    const record = await store.write(() => insert(-1, -1));
    const bytes = notes.get(record) as Buffer;
    await expect(store.write(() => notes.replace({ record, bytes }, ambiguous(-1, -3)))).rejects.toThrow(
      message,
    );
    await store.write(() => insert(-3, -3));
    await expect(store.write(() => insert(-4, -1))).rejects.toMatchObject({ code: 11_000 });
  });
});

describe('an index that is being built', () => {
  const indexes = [{ key: { n: 1 }, name: 'n_1', unique: true }];
  const create = (): Promise<unknown> =>
    createIndexes(new Command(doc({ createIndexes: 'notes', indexes, $db: 'test' }), new Map(), 1), engine);

  /** Resolves when the building of an index has begun. */
  async function begun(): Promise<void> {
    while (!notes.index('n_1')) await store.write(() => undefined);
    expect(notes.index('n_1')?.ready).toBe(false);
  }

  it('is there for all who asked for it', async () => {
    await Promise.all([create(), create(), create()]);
    expect(notes.index('n_1')?.ready).toBe(true);
  });

  it('is promised to nobody where it cannot be built', async () => {
    await store.write(() => insert(-1, documents - 1));
    const first = create();
    const failing = expect(first).rejects.toMatchObject({ code: 11_000 });
    await begun();
    await expect(create()).rejects.toMatchObject({ code: 11_000 });
    await failing;
    expect(notes.index('n_1')).toBeUndefined();
  });

  it('is not promised where it is dropped', async () => {
    const failing = expect(create()).rejects.toMatchObject({ code: 276 });
    await begun();
    await store.write(() =>
      notes.indexes.slice(1).forEach((index) => engine.catalog.dropIndex(notes, index)),
    );
    await failing;
  });

  it('is not promised where its collection is dropped', async () => {
    const failing = expect(create()).rejects.toMatchObject({ code: 276 });
    await begun();
    await store.write(() => engine.catalog.drop(notes));
    await failing;
  });
});
