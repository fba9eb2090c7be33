import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { errorCodes } from './errors.js';
import { Lock } from './lock.js';
import { damagedFiles, damagedFilesCode } from './storage/data-file.js';
import type { ServerOptions } from './server.js';
import type { WorkerMessage, WorkerOptions, WorkerOrder } from './worker-thread.js';

/** Where data is stored, and how clients connect to the server. */
export interface EmbeddedMongodbOptions {
  /**
   * Folder of the data; created if it is missing. One server serves a folder; a second start finds the first.
   */
  dir?: string;
  /** Keep the data only as long as the server runs, instead of in a folder. @default false */
  memory?: boolean;
  /**
   * Path of a Unix domain socket.
   *
   * @default one inside the folder, or in the system's folder for temporary files
   */
  socket?: string;
  /** TCP port on 127.0.0.1, instead of a socket; 0 chooses a free one. Every local user can connect to it. */
  port?: number;
  /** How often documents that have expired by a TTL index are removed. Unit: milliseconds. @default 60000 */
  ttlIntervalMs?: number;
}

/** A running server. */
export interface EmbeddedMongodb {
  /** Connection string for drivers. */
  readonly uri: string;
  /** Stops the server once the writes in progress are done. Does nothing if another process runs it. */
  stop(): Promise<void>;
}

/** Maximum length of a Unix domain socket's path. Unit: bytes. */
const maxSocketPath = 100;

/**
 * Whether a start failed because data files are damaged or missing, their folder cannot be used, or there is no
 * room: another attempt would fail in the same way until somebody does something about it.
 */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false;
  return error.code === damagedFilesCode || error.code === errorCodes.OutOfDiskSpace;
}

/**
 * Starts the server in a worker thread, or finds the server that already serves the folder.
 *
 * @throws Error if neither or both of `dir` and `memory` are given, or if the data or the address cannot be
 * opened; see {@link isDamage}
 */
export async function startEmbeddedMongodb(options: EmbeddedMongodbOptions): Promise<EmbeddedMongodb> {
  const { memory = false } = options;
  if ((options.dir === undefined) === !memory)
    throw new Error('startEmbeddedMongodb: give either { dir } or { memory: true }.');
  return options.dir === undefined ? startInMemory(options) : startInFolder(resolve(options.dir), options);
}

/** Error codes of folders and files that will not do, however often they are tried: names from Node, numbers from LMDB. */
const unusable: ReadonlySet<unknown> = new Set(
  (['EACCES', 'EEXIST', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOTDIR', 'EPERM', 'EROFS'] as const).flatMap(
    (name) => [name, constants.errno[name]],
  ),
);

async function startInFolder(dir: string, options: EmbeddedMongodbOptions): Promise<EmbeddedMongodb> {
  try {
    return await startLocked(dir, options);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!unusable.has(code)) throw error;
    throw damagedFiles(
      `The folder ${dir} cannot hold the embedded database: ${message}. Name a folder that this process can create, read and write, or make this one so.`,
    );
  }
}

async function startLocked(dir: string, options: EmbeddedMongodbOptions): Promise<EmbeddedMongodb> {
  const lock = await Lock.take(dir);
  if (typeof lock === 'string') return { uri: lock, stop: () => Promise.resolve() };
  try {
    const data = privateFolder(join(dir, 'lmdb'));
    const server = await serve({ dir: data }, options, () => socketPath(dir));
    lock.publish(server.uri);
    return {
      uri: server.uri,
      async stop() {
        await server.stop();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The data files belong to this process only, and are removed with it. */
async function startInMemory(options: EmbeddedMongodbOptions): Promise<EmbeddedMongodb> {
  const folder = mkdtempSync(join(tmpdir(), 'embedded-mongodb-'));
  const cleanUp = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', cleanUp);
  const done = (): void => {
    process.off('exit', cleanUp);
    cleanUp();
  };
  try {
    const data = { dir: join(folder, 'lmdb'), temporary: true };
    const server = await serve(data, options, () => join(folder, 'mongodb.sock'));
    return { uri: server.uri, stop: () => server.stop().finally(done) };
  } catch (error) {
    done();
    throw error;
  }
}

/** Serves data at the address in the options, or at the given socket. */
async function serve(
  data: Pick<ServerOptions, 'dir' | 'temporary'>,
  { port, socket: wanted, ttlIntervalMs }: EmbeddedMongodbOptions,
  defaultSocket: () => string,
): Promise<EmbeddedMongodb> {
  const socket = port === undefined ? (wanted ?? defaultSocket()) : undefined;
  const worker = await startWorker({ ...data, socket, port, ttlIntervalMs });
  return {
    uri:
      socket === undefined
        ? `mongodb://127.0.0.1:${worker.port}/`
        : `mongodb://${encodeURIComponent(socket)}/`,
    async stop() {
      await worker.stop();
      if (socket !== undefined) rmSync(socket, { force: true });
    },
  };
}

/**
 * A socket inside the folder if drivers can find it there; otherwise one in the folder for temporary files.
 */
function socketPath(dir: string): string {
  let path = join(dir, 'run', 'mongodb.sock');
  // The driver decodes a path with a percent sign twice.
  if (Buffer.byteLength(path) > maxSocketPath || path.includes('%')) {
    const name = createHash('sha256').update(dir).digest('hex').slice(0, 16);
    path = join(tmpdir(), `embedded-mongodb-${name}`, 'mongodb.sock');
  }
  privateFolder(dirname(path));
  return path;
}

/** A folder that only its owner can enter; fails if the folder belongs to someone else. */
function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
  return path;
}

interface RunningWorker {
  port?: number;
  stop(): Promise<void>;
}

/** How long the process waits for the thread before it exits. Unit: milliseconds. */
const exitPatienceMs = 5_000;

/** A worker thread, so that a long scan does not block the event loop of the thread that starts it. */
async function startWorker(options: ServerOptions): Promise<RunningWorker> {
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const workerData: WorkerOptions = { ...options, ended };
  const worker = new Worker(new URL('./worker-thread.js', import.meta.url), { workerData });
  const tell = (order: WorkerOrder): void => worker.postMessage(order);
  // Node cannot end a thread that is in an LMDB transaction: the thread has to leave it first.
  const onExit = (): void => {
    tell('exit');
    if (Atomics.wait(ended, 0, 0, exitPatienceMs) === 'timed-out') process.kill(process.pid, 'SIGKILL');
  };
  process.once('exit', onExit);
  const exited = new Promise<void>((resolve) => worker.once('exit', resolve)).then(() => {
    process.off('exit', onExit);
  });
  const ready = await new Promise<Extract<WorkerMessage, { kind: 'ready' }>>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', resolve);
  });
  // From here on, nobody can catch a failure of the server, and it ends the process.
  worker.removeAllListeners('error');
  // The process may end while the server runs: acknowledged writes are on disk.
  worker.unref();
  return {
    port: ready.port,
    async stop() {
      // The process must not end before the data is closed.
      worker.ref();
      tell('stop');
      await exited;
    },
  };
}
