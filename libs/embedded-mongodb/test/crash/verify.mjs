import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';

/** The indexes of the collection under test, and the documents that each of them holds. */
export const indexes = [
  { key: { email: 1 }, unique: true },
  { key: { writer: 1, n: -1 } },
  { key: { tags: 1 } },
  { key: { n: 1 }, partialFilterExpression: { n: { $gt: 2 } }, name: 'some' },
];

const heldBy = (index) => index.partialFilterExpression ?? {};

/** What disagrees within the collections of a database, as sentences. */
export async function disagreements(db) {
  const wrong = [];
  for (const { name } of await db.listCollections().toArray()) {
    const collection = db.collection(name);
    const all = await collection.find().hint({ $natural: 1 }).toArray();
    const counter = (await db.command({ count: name })).n;
    if (counter !== all.length) wrong.push(`${name}: counts ${counter}, holds ${all.length}`);
    for (const index of await collection.indexes()) {
      const filter = heldBy(index);
      const expected = await collection.find(filter).hint({ $natural: 1 }).toArray();
      const found = await collection.find(filter).hint(index.name).toArray();
      const counted = await collection.countDocuments(filter, { hint: index.name });
      if (!isDeepStrictEqual(byId(found), byId(expected)) || counted !== expected.length)
        wrong.push(
          `${name}: index ${index.name} finds ${found.length}, counts ${counted} of ${expected.length}`,
        );
    }
  }
  return wrong;
}

/** What disagrees in the files themselves: every entry of an index belongs to a document, and none is missing. */
export async function storedDisagreements(dir) {
  const { Catalog, recordOf, Store, tableRange } = await import('../../dist/data-files.js');
  const store = Store.open(dir);
  const wrong = [];
  for (const collection of new Catalog(store).list()) {
    const documents = entries(collection.walk());
    const size = documents.reduce((sum, { value }) => sum + value.length, 0);
    if (collection.counters.size !== size)
      wrong.push(`${collection.namespace}: the size counted is not that stored`);
    for (const index of collection.indexes) {
      const expected = documents.flatMap(({ key, value }) => index.entries(value, recordOf(key)));
      const stored = entries(store.walk(tableRange(index.table), false, false));
      if (!isDeepStrictEqual(hex(expected), hex(stored.map(({ key }) => key))))
        wrong.push(`${collection.namespace}: entries of ${index.name} are not those of the documents`);
    }
  }
  await store.close();
  return wrong;
}

function entries(cursor) {
  const all = [];
  for (let entry = cursor.next(); entry; entry = cursor.next())
    all.push({ key: Buffer.from(entry.key), value: Buffer.from(entry.value) });
  cursor.release();
  return all;
}

const hex = (keys) => keys.map((key) => key.toString('hex')).sort();
const byId = (documents) => documents.sort((a, b) => (String(a._id) < String(b._id) ? -1 : 1));
