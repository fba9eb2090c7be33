import { randomBytes } from 'node:crypto';
import { mongo } from 'mongoose';
import { startEmbeddedMongodb } from 'nestjs-mongo-crud-embedded';
import type { Variables } from '../../src/config/index.js';

/** The connection string of a database that no other suite uses. */
export function freshDatabaseUri(): string {
  const base = process.env.MONGODB_URI;
  if (!base)
    throw new Error('Set MONGODB_URI to a MongoDB for the tests, for example mongodb://127.0.0.1:27017.');
  const uri = new URL(base);
  uri.pathname = `/test_${randomBytes(6).toString('hex')}`;
  // So that a test can see the commands that the service sends.
  uri.searchParams.set('monitorCommands', 'true');
  return uri.href;
}

/** The variables of a process whose database may be its own: it is, unless the tests run on a MongoDB. */
export const ownDatabase = (): Variables =>
  process.env.TESTS_ARE_EMBEDDED ? {} : { MONGODB_URI: freshDatabaseUri() };

/** A database that the tests around share with processes, removed after them. */
export function useDatabase(): { uri: string; database: mongo.Db } {
  const uri = freshDatabaseUri();
  const client = new mongo.MongoClient(uri);
  afterAll(async () => {
    await client.db().dropDatabase();
    await client.close();
  });
  return { uri, database: client.db() };
}

/** A database for long transactions, for which others would wait in the embedded one that tests share. @returns ends it */
export async function separateMongodb(): Promise<() => Promise<void>> {
  const shared = process.env.MONGODB_URI;
  if (!process.env.TESTS_ARE_EMBEDDED) return () => Promise.resolve();
  const server = await startEmbeddedMongodb({ memory: true, port: 0 });
  process.env.MONGODB_URI = server.uri;
  return async () => {
    process.env.MONGODB_URI = shared;
    await server.stop();
  };
}
