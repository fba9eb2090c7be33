import { startEmbeddedMongodb } from 'nestjs-mongo-crud-embedded';

/**
 * Starts the embedded default for the whole run, unless MONGODB_URI names a MongoDB. On a port, since some tests put a
 * proxy before it.
 */
export default async function start() {
  if (process.env.MONGODB_URI) return;
  const server = await startEmbeddedMongodb({ memory: true, port: 0 });
  process.env.MONGODB_URI = server.uri;
  process.env.TESTS_ARE_EMBEDDED = 'yes';
  globalThis.embeddedMongodb = server;
}
