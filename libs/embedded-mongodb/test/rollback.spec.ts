import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeDocument } from '../src/bson/encode.js';
import { parseIndex } from '../src/index/definition.js';
import { Catalog } from '../src/catalog/catalog.js';
import type { Collection } from '../src/catalog/collection.js';
import { Store } from '../src/storage/store.js';
import { doc } from './support/bson.js';

let dir: string;
let store: Store;
let catalog: Catalog;
let notes: Collection;

const insert = (_id: number): number => notes.insert(Buffer.from(encodeDocument(doc({ _id, n: _id }))));

/** A group of jobs that LMDB refuses to take. */
async function rollBack(job: () => unknown = () => undefined): Promise<void> {
  const longerThanAnyKey = Buffer.alloc(10_000, 'k');
  const group = [store.write(job), store.write(() => store.put(longerThanAnyKey, Buffer.alloc(1)))];
  for (const { status } of await Promise.allSettled(group)) expect(status).toBe('rejected');
}

async function reopen(): Promise<void> {
  await store.close();
  store = Store.open(dir);
  catalog = new Catalog(store);
  notes = catalog.find('test.notes') as Collection;
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'rollback-'));
  store = Store.open(dir);
  catalog = new Catalog(store);
  notes = await store.write(() => catalog.create('test.notes'));
  await store.write(() => insert(1));
});
afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

it('a closed store refuses late jobs, and the data dropped last is removed at the next start', async () => {
  await store.write(() => catalog.drop(notes));
  await store.close();
  await expect(store.write(() => undefined)).rejects.toThrow('closed');
  store = Store.open(dir);
  catalog = new Catalog(store);
  expect(catalog.list()).toEqual([]);
});

describe('a running command while others are rolled back', () => {
  it('counts later changes, but not those that were undone', async () => {
    await rollBack(() => insert(2));
    await store.write(() => [insert(3), insert(4)]);
    expect(notes.counters.documents).toBe(3);
    await reopen();
    expect(notes.counters.documents).toBe(3);
  });

  it('finishes the index that it was building', async () => {
    const index = await store.write(() =>
      catalog.addIndex(notes, parseIndex(doc({ key: { n: 1 }, name: 'n_1' }))),
    );
    await rollBack();
    await store.write(() => catalog.publish(notes, index));
    await reopen();
    expect(notes.index('n_1')?.ready).toBe(true);
  });

  it('repeats the index entries that were undone', async () => {
    const index = await store.write(() =>
      catalog.addIndex(notes, parseIndex(doc({ key: { n: 1 }, name: 'n_1' }))),
    );
    await store.write(() => catalog.publish(notes, index));
    const insertArray = (_id: number): number =>
      notes.insert(Buffer.from(encodeDocument(doc({ _id, n: [1, 9] }))));
    await rollBack(() => insertArray(2));
    await store.write(() => insertArray(2));
    await reopen();
    expect(notes.index('n_1')?.multikey).toBe(true);
  });

  it('keeps its collection if only the drop was undone', async () => {
    await rollBack(() => catalog.drop(notes));
    expect(notes.dropped).toBe(false);
    expect(catalog.find('test.notes')).toBe(notes);
  });

  it('learns that its collection was never created', async () => {
    let gone: Collection | undefined;
    await rollBack(() => (gone = catalog.create('test.gone')));
    expect(gone?.dropped).toBe(true);
    expect(catalog.find('test.gone')).toBeUndefined();
  });
});
