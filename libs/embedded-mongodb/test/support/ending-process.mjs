/** A process that ends with 3 while its server runs: `node ending-process.mjs DIR while-serving|after-stop|by-itself|MILLISECONDS`. */
import { MongoClient } from 'mongodb';
import { startEmbeddedMongodb } from '../../dist/index.js';

const [dir, when] = process.argv.slice(2);
const delay = Number(when);
if (delay >= 0) setTimeout(() => process.exit(3), delay);

const server = await startEmbeddedMongodb({ dir });
const client = new MongoClient(server.uri);
await client
  .db('test')
  .collection('names')
  .updateOne({ _id: 'ada' }, { $set: { here: true } }, { upsert: true });
await client.close();
if (when === 'after-stop') await server.stop();
process.exitCode = 3;
if (when !== 'by-itself') process.exit();
