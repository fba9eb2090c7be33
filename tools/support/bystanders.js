import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { requestOf } from './connection.js';
import { closedLoop } from './load.js';

const CLIENTS = 5;
/** How long a client waits after an answer. Unit: milliseconds. */
const THINK_MS = 20;

/**
 * Measures a service as normal clients see it that read a record, in a separate thread, so that other work of the
 * drill does not delay them. Its result is that of {@link closedLoop}.
 */
export async function bystanders(url, path, ms) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { url, path, ms } });
  const [result] = await once(worker, 'message');
  return result;
}

if (!isMainThread && workerData?.path) {
  const { url, path, ms } = workerData;
  const bytes = requestOf('GET', path);
  parentPort.postMessage(
    await closedLoop(url, { clients: CLIENTS, ms, thinkMs: THINK_MS, requestOf: () => bytes }),
  );
}
