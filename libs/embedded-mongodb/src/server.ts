import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { Cursors } from './commands/cursors.js';
import type { Engine } from './commands/context.js';
import { dispatcher } from './commands/table.js';
import { Transactions } from './commands/transactions.js';
import { Catalog } from './catalog/catalog.js';
import { Store } from './storage/store.js';
import { TtlMonitor } from './ttl.js';
import { serveConnection } from './wire/connection.js';

/** Where data is stored and clients are served. */
export interface ServerOptions {
  /** Folder of the data. */
  dir: string;
  /** Keep the data only as long as the server runs. */
  temporary?: boolean;
  /** Path of a Unix domain socket. */
  socket?: string;
  /** TCP port on 127.0.0.1, instead of a socket; 0 chooses a free one. */
  port?: number;
  /** How often expired documents are removed. Unit: milliseconds. */
  ttlIntervalMs?: number;
  /** How long a transaction may be open. Unit: milliseconds. @default 1,400 */
  transactionLifetimeMs?: number;
}

/** How often to look for unused cursors. Unit: milliseconds. */
const cursorIntervalMs = 60_000;

/** The server itself: its store, its listening socket, and its housekeeping. */
export class MongoServer {
  private readonly sockets = new Set<Socket>();
  private readonly cursorTimer: NodeJS.Timeout;
  private readonly ttl: TtlMonitor;
  private connections = 0;

  private constructor(
    private readonly engine: Engine,
    private readonly listener: Server,
    private readonly options: ServerOptions,
  ) {
    this.cursorTimer = setInterval(() => engine.cursors.closeIdle(), cursorIntervalMs);
    this.ttl = new TtlMonitor(engine, options.ttlIntervalMs);
    listener.on('connection', (socket) => this.accept(socket));
  }

  /** Opens the data and starts to listen. */
  static async start(options: ServerOptions): Promise<MongoServer> {
    const store = Store.open(options.dir, options.temporary);
    const transactions = new Transactions(store, options.transactionLifetimeMs);
    const engine: Engine = { store, catalog: new Catalog(store), cursors: new Cursors(), transactions };
    const server = new MongoServer(engine, createServer(), options);
    await server.listen();
    return server;
  }

  /** The port that the server listens on, if any. */
  get port(): number | undefined {
    const address = this.listener.address();
    return typeof address === 'object' ? address?.port : undefined;
  }

  /** Number of connected clients. */
  get connectionCount(): number {
    return this.sockets.size;
  }

  /** Closes the connections, finishes the writes, and closes the data. */
  async stop(): Promise<void> {
    clearInterval(this.cursorTimer);
    this.ttl.stop();
    const closed = new Promise((resolve) => this.listener.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
    await this.engine.store.close();
  }

  private async listen(): Promise<void> {
    const { socket, port } = this.options;
    if (socket !== undefined) {
      // Only the owner may reach the socket, whatever the umask.
      mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
      rmSync(socket, { force: true });
    }
    await new Promise<void>((resolve, reject) => {
      this.listener.once('error', reject);
      if (socket === undefined) this.listener.listen(port ?? 0, '127.0.0.1', resolve);
      else this.listener.listen(socket, resolve);
    });
    if (socket !== undefined) chmodSync(socket, 0o600);
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket);
    const id = ++this.connections;
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.engine.transactions.disconnected(id);
    });
    serveConnection(socket, id, dispatcher(this.engine));
  }
}
