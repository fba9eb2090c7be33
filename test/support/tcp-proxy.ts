import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** `hold` keeps what the service sends until the next `pass`, `hang` swallows it, `refuse` also closes what is open. */
export type ProxyMode = 'pass' | 'hold' | 'hang' | 'refuse';

/** Stands between a service and its database, to fail as a network or a database does. */
export class TcpProxy {
  private readonly server: Server;
  private readonly clients = new Set<Socket>();
  private mode: ProxyMode = 'pass';
  private swallowed?: Buffer;

  private constructor(
    private readonly target: { host: string; port: number },
    private port = 0,
  ) {
    this.server = createServer((client) => this.accept(client));
  }

  /** Starts a proxy on a free port before the first host of a connection string. */
  static async before(uri: string, mode: ProxyMode = 'pass'): Promise<TcpProxy> {
    const { hostname, port } = new URL(uri);
    const proxy = new TcpProxy({ host: hostname, port: Number(port || 27_017) });
    await proxy.listen();
    await proxy.turn(mode);
    return proxy;
  }

  /** The same database, by way of this proxy. */
  through(uri: string): string {
    const url = new URL(uri);
    url.host = `127.0.0.1:${this.port}`;
    // Otherwise a driver asks a replica set for its members, and goes to them past the proxy.
    url.searchParams.delete('replicaSet');
    url.searchParams.set('directConnection', 'true');
    return url.href;
  }

  async turn(mode: ProxyMode): Promise<void> {
    const before = this.mode;
    this.mode = mode;
    // What a hanging connection has swallowed is gone; it cannot be gone on with.
    if (mode === 'refuse' || (mode === 'pass' && before === 'hang')) this.drop();
    if (mode === 'refuse' && before !== 'refuse') await once(this.server.close(), 'close');
    if (mode !== 'refuse' && before === 'refuse') await this.listen();
    for (const client of this.clients) this.readOrHold(client);
  }

  /** From now on loses every message of the service that has the bytes, and hands the others on. */
  swallow(bytes: Buffer): void {
    this.swallowed = bytes;
  }

  /** Breaks every open connection; new ones are treated by the mode. */
  drop(): void {
    for (const client of this.clients) client.destroy();
  }

  async close(): Promise<void> {
    this.drop();
    if (this.server.listening) await once(this.server.close(), 'close');
  }

  private accept(client: Socket): void {
    const server = connect(this.target);
    this.clients.add(client);
    client.on('data', (bytes) => {
      const isLost = this.swallowed !== undefined && bytes.includes(this.swallowed);
      if (this.mode === 'pass' && !isLost) server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (this.mode === 'pass' && !client.write(bytes)) server.pause();
    });
    client.on('drain', () => server.resume());
    client.on('error', () => client.destroy()).on('close', () => server.destroy());
    server.on('error', () => server.destroy()).on('close', () => client.destroy());
    client.on('close', () => this.clients.delete(client));
    this.readOrHold(client);
  }

  private readOrHold(client: Socket): void {
    if (this.mode === 'hold') client.pause();
    else client.resume();
  }

  private async listen(): Promise<void> {
    await once(this.server.listen(this.port, '127.0.0.1'), 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }
}
