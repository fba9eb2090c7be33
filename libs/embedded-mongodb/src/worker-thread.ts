import { parentPort, workerData } from 'node:worker_threads';
import { MongoServer, type ServerOptions } from './server.js';

/** The options that the thread is started with. */
export interface WorkerOptions extends ServerOptions {
  /** Set to 1 when the thread has released its data. */
  ended: Int32Array;
}

/** Messages from the worker to the thread that started it. */
export type WorkerMessage = { kind: 'ready'; port?: number } | { kind: 'stopped' };

/** Messages to the worker: finish properly, or end at once because the process ends. */
export type WorkerOrder = 'stop' | 'exit';

if (!parentPort) throw new Error('worker-thread.js is started by startEmbeddedMongodb alone');
const parent = parentPort;
const { ended, ...options } = workerData as WorkerOptions;

process.on('exit', () => {
  Atomics.store(ended, 0, 1);
  Atomics.notify(ended, 0);
});
const starting = MongoServer.start(options);
parent.on('message', (order: WorkerOrder) => {
  if (order === 'exit') process.exit();
  void starting
    .then((server) => server.stop())
    .then(() => {
      parent.postMessage({ kind: 'stopped' } satisfies WorkerMessage);
      parent.close();
    });
});
const { port } = await starting;
parent.postMessage({ kind: 'ready', port } satisfies WorkerMessage);
