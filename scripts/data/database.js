import { join } from 'node:path';
import mongoose from 'mongoose';
import { buildModules } from '../build-if-missing.js';
import { fail } from '../support/arguments.js';

const { MongoClient } = mongoose.mongo;

/** Keeps the database's types: a double stays a double even if it is a whole number. */
const AS_STORED = { promoteValues: false, promoteLongs: false, promoteBuffers: false };
const BATCH = 500;

/** The database of the service, whether or not the service runs: that of MONGODB_URI, or the embedded one of DATA_DIR. */
export async function openOwn() {
  return process.env.MONGODB_URI ? open(process.env.MONGODB_URI) : openEmbedded();
}

/** The embedded database of DATA_DIR. */
export async function openEmbedded() {
  await buildModules();
  const { startEmbeddedMongodb } = await import('nestjs-mongo-crud-embedded');
  const dir = join(process.env.DATA_DIR || './data', 'mongodb');
  const server = await startEmbeddedMongodb({ dir });
  return open(`${server.uri}posts-and-todos`, () => server.stop());
}

/** A database by its connection string, which contains its name. */
export async function open(uri, stop = async () => undefined) {
  if (!/^mongodb(\+srv)?:\/\/[^/]+\/[^/?]/.test(uri))
    fail('The URI must name a database, such as mongodb://127.0.0.1:27017/posts-and-todos.');
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5_000 });
  await client.connect().catch((error) => fail(`The database cannot be reached: ${error.message}`));
  return {
    db: client.db(),
    async close() {
      await client.close();
      await stop();
    },
  };
}

/** Every record, as `[collection, document]`. */
export async function* recordsOf({ db }) {
  const collections = await db.listCollections({}, { nameOnly: true }).toArray();
  const names = collections.map(({ name }) => name).filter((name) => !name.startsWith('system.'));
  for (const name of names.sort()) {
    for await (const document of db.collection(name).find({}, AS_STORED)) yield [name, document];
  }
}

/** Number of records. */
export async function countOf({ db }) {
  let count = 0;
  for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray())
    count += await db.collection(name).countDocuments();
  return count;
}

/** Stores records in a database that must be empty, since two installations would be mixed otherwise. */
export async function storeAll({ db }, records, onStored) {
  if ((await countOf({ db })) > 0)
    fail(`The database ${db.databaseName} has records already. Choose an empty one, or drop it first.`);
  let [collection, batch] = ['', []];
  const store = async () => {
    if (batch.length > 0) await db.collection(collection).insertMany(batch, { ordered: false });
    onStored(batch.length);
    batch = [];
  };
  for await (const [name, document] of records) {
    if (name !== collection || batch.length === BATCH) await store();
    collection = name;
    batch.push(document);
  }
  await store();
}
