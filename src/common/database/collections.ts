import { type Connection, mongo } from 'mongoose';

const NAMESPACE_EXISTS = 48;

/** Codes of an index that is there with other options: by its keys, by its name. */
const INDEX_DIFFERS = [85, 86];

/**
 * Creates the collections and indexes that the models declare, where they are missing. On a client of its own without
 * a socket time-out, since building an index on a large collection takes its time.
 *
 * @throws the driver's error where the server cannot be reached or an index cannot be built, and a sentence about an index
 * that an older version has left with other options: no index is dropped by itself
 */
export async function prepareCollections(uri: string, models: Connection['models']): Promise<void> {
  const client = new mongo.MongoClient(uri, { serverSelectionTimeoutMS: 2_000, connectTimeoutMS: 2_000 });
  try {
    await client.connect();
    // One after another: collections come into being in a known order, and an error names one model.
    for (const model of Object.values(models)) {
      const { name } = model.collection;
      await client.db().createCollection(name).catch(ignoreExisting);
      for (const [keys, options] of model.schema.indexes()) {
        const { background: _, ...rest } = options as mongo.CreateIndexesOptions;
        await client
          .db()
          .collection(name)
          .createIndex(keys as mongo.IndexSpecification, rest)
          .catch((error: unknown) => refuseDifference(error, name, keys));
      }
    }
  } finally {
    await client.close();
  }
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof mongo.MongoServerError && error.code === NAMESPACE_EXISTS)) throw error;
}

function refuseDifference(error: unknown, collection: string, keys: object): never {
  if (!(error instanceof mongo.MongoServerError && INDEX_DIFFERS.includes(Number(error.code)))) throw error;
  const shown = JSON.stringify(keys);
  throw new Error(
    `The index ${shown} of "${collection}" has other options than it should have by now. Run db.getCollection("${collection}").dropIndex(${shown}); it is then made anew.`,
    { cause: error },
  );
}
