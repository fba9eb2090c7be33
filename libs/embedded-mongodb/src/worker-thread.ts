import { parentPort, workerData } from 'node:worker_threads';
import { MongoServer, type ServerOptions } from './server.js';

/** What the worker tells the thread that started it. */
export type WorkerMessage = { kind: 'ready'; port?: number } | { kind: 'stopped' };

if (!parentPort) throw new Error('worker-thread.js is started by startEmbeddedMongodb alone');
const parent = parentPort;
const server = await MongoServer.start(workerData as ServerOptions);
parent.postMessage({ kind: 'ready', port: server.port } satisfies WorkerMessage);
parent.once('message', () => {
  void server.stop().then(() => {
    parent.postMessage({ kind: 'stopped' } satisfies WorkerMessage);
    parent.close();
  });
});
