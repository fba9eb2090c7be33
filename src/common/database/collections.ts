import { type Connection, mongo } from 'mongoose';

const NAMESPACE_EXISTS = 48;

/**
 * Creates the collections and indexes that the models declare, where they are missing. On a client of its own without
 * a socket time-out, since building an index on a large collection takes its time.
 *
 * @throws the driver's error where the server cannot be reached or an index cannot be built
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
          .createIndex(keys as mongo.IndexSpecification, rest);
      }
    }
  } finally {
    await client.close();
  }
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof mongo.MongoServerError && error.code === NAMESPACE_EXISTS)) throw error;
}
