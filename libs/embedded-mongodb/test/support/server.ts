import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Collection, type Db, type Document, MongoClient } from 'mongodb';
import { MongoServer, type ServerOptions } from '../../src/server.js';

/** A server of the test's own, and a client of it. */
export interface TestServer {
  readonly port: number;
  readonly client: MongoClient;
  readonly database: Db;
  /** Runs a command. */
  run(command: Document): Promise<Document>;
  /** A collection without documents and indexes, filled anew. */
  filled(documents: Document[]): Promise<Collection<Document>>;
  /** What an expression gives for one document with the given fields; numbers come with their types. */
  evaluate(expression: unknown, fields?: Document): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a server in memory. */
export async function startTestServer(options?: Partial<ServerOptions>): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'embedded-'));
  const server = await MongoServer.start({ dir: join(folder, 'lmdb'), port: 0, temporary: true, ...options });
  const client = new MongoClient(`mongodb://127.0.0.1:${server.port}/`);
  const database = client.db('test');
  let number = 0;
  const filled = async (documents: Document[]): Promise<Collection<Document>> => {
    const collection = database.collection(`c${number++}`);
    await collection.insertMany(documents);
    return collection;
  };
  return {
    port: server.port as number,
    client,
    database,
    run: (command) => database.command(command),
    filled,
    async evaluate(expression, fields = {}) {
      const collection = await filled([fields]);
      const stages = [{ $project: { _id: 0, result: expression } }];
      const [result] = await collection.aggregate(stages, { promoteValues: false }).toArray();
      return result?.result;
    },
    async stop() {
      await client.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
