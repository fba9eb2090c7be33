import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { Cursors } from './commands/cursors.js';
import type { Engine } from './commands/context.js';
import { dispatcher } from './commands/table.js';
import { Catalog } from './catalog/catalog.js';
import { Store } from './storage/store.js';
import { TtlMonitor } from './ttl.js';
import { serveConnection } from './wire/connection.js';

/** Where data is kept and clients are served. */
export interface ServerOptions {
  /** Folder of the data. */
  dir: string;
  /** Keep the data for the life of the server alone. */
  temporary?: boolean;
  /** Path of a Unix domain socket. */
  socket?: string;
  /** TCP port on 127.0.0.1, in place of a socket; 0 takes a free one. */
  port?: number;
  /** How often expired documents are removed. Unit: milliseconds. */
  ttlIntervalMs?: number;
}

/** How often unused cursors are looked for. Unit: milliseconds. */
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

  /** Opens the data and begins to listen. */
  static async start(options: ServerOptions): Promise<MongoServer> {
    const store = Store.open(options.dir, options.temporary);
    const engine: Engine = { store, catalog: new Catalog(store), cursors: new Cursors() };
    const server = new MongoServer(engine, createServer(), options);
    await server.listen();
    return server;
  }

  /** The port listened on, where it is one. */
  get port(): number | undefined {
    const address = this.listener.address();
    return typeof address === 'object' ? address?.port : undefined;
  }

  /** How many clients are connected. */
  get connectionCount(): number {
    return this.sockets.size;
  }

  /** Ends the connections, finishes the writes, and closes the data. */
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
      // Nobody but the owner may reach the socket, whatever the umask says.
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
    socket.on('close', () => this.sockets.delete(socket));
    serveConnection(socket, ++this.connections, dispatcher(this.engine));
  }
}
