import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/** A webhook as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly at: number;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A receiver of webhooks on loopback, whose answers a test can change. */
export class Receiver {
  readonly received: Received[] = [];
  /** By default 204. */
  answer: Answer = (response) => void response.writeHead(204).end();

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { url: path = '', headers } = request;
        this.received.push({ path, headers, body: Buffer.concat(chunks), at: Date.now() });
        this.answer(response, request);
      });
    });
  }

  static async start(): Promise<Receiver> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Receiver(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

/** A server that treats each connection, byte by byte, as a test says. */
export class RawReceiver {
  connections = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: TcpServer) {}

  static async start(treat: (socket: Socket) => void): Promise<RawReceiver> {
    const server = createTcpServer();
    const receiver = new RawReceiver(server);
    server.on('connection', (socket) => {
      receiver.connections++;
      receiver.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => receiver.sockets.delete(socket));
      treat(socket);
      // Unless it reads, a socket does not see the other end close.
      socket.resume();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  /** Connections that are open at the moment. */
  get open(): number {
    return this.sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}
