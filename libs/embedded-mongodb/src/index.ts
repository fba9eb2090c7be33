import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Lock } from './lock.js';
import type { ServerOptions } from './server.js';
import type { WorkerMessage } from './worker-thread.js';

/** Where the data are kept, and how the server is reached. */
export interface EmbeddedMongodbOptions {
  /** Folder of the data, created where it is missing. One server serves a folder; a second start finds the first. */
  dir?: string;
  /** Keep the data for the life of the server alone, in place of a folder. @default false */
  memory?: boolean;
  /** Path of a Unix domain socket. @default one inside the folder, or of the system's folder for temporary files */
  socket?: string;
  /** TCP port on 127.0.0.1, in place of a socket; 0 takes a free one. Every local user can connect to it. */
  port?: number;
}

/** A running server. */
export interface EmbeddedMongodb {
  /** Connection string for drivers. */
  readonly uri: string;
  /** Ends the server after the writes that it has begun; does nothing where another process runs it. */
  stop(): Promise<void>;
}

/** Longest path of a Unix domain socket. Unit: bytes. */
const maxSocketPath = 100;

/**
 * Starts the server in a worker thread, or finds the one that serves the folder already.
 *
 * @throws Error where neither or both of `dir` and `memory` are given, or the data or the address cannot be opened
 */
export async function startEmbeddedMongodb(options: EmbeddedMongodbOptions): Promise<EmbeddedMongodb> {
  const { dir, memory = false, port } = options;
  if ((dir === undefined) === !memory)
    throw new Error('startEmbeddedMongodb: give either { dir } or { memory: true }.');
  const lock = dir === undefined ? undefined : Lock.take(resolve(dir));
  if (typeof lock === 'string') return { uri: lock, stop: () => Promise.resolve() };
  try {
    const socket = port === undefined ? (options.socket ?? socketPath(dir)) : undefined;
    const worker = await startWorker({ dir: dir && join(resolve(dir), 'lmdb'), socket, port });
    const uri =
      socket === undefined
        ? `mongodb://127.0.0.1:${worker.port}/`
        : `mongodb://${encodeURIComponent(socket)}/`;
    lock?.publish(uri);
    return {
      uri,
      async stop() {
        await worker.stop();
        if (socket !== undefined) rmSync(socket, { force: true });
        lock?.release();
      },
    };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/** A socket inside the folder, where its path is short enough; otherwise one in the folder for temporary files. */
function socketPath(dir: string | undefined): string {
  if (dir === undefined)
    return join(tmpdir(), `embedded-mongodb-${process.pid}-${Date.now()}`, 'mongodb.sock');
  const inside = join(resolve(dir), 'mongodb.sock');
  if (Buffer.byteLength(inside) <= maxSocketPath) return inside;
  const name = createHash('sha256').update(resolve(dir)).digest('hex').slice(0, 16);
  return join(tmpdir(), `embedded-mongodb-${name}`, 'mongodb.sock');
}

interface RunningWorker {
  port?: number;
  stop(): Promise<void>;
}

/** A worker thread, so that a long scan does not hold up the event loop of the thread that starts it. */
async function startWorker(options: ServerOptions): Promise<RunningWorker> {
  const worker = new Worker(new URL('./worker-thread.js', import.meta.url), { workerData: options });
  const ready = await new Promise<Extract<WorkerMessage, { kind: 'ready' }>>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', resolve);
  });
  // The process may end while the server runs: what it acknowledged is on disk.
  worker.unref();
  return {
    port: ready.port,
    async stop() {
      // The process must not end before the data are closed.
      worker.ref();
      const exited = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage('stop');
      await exited;
    },
  };
}
