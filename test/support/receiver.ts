import { once } from 'node:events';
import * as http from 'node:http';
import * as net from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A server on loopback, which can listen again after it was closed. */
class Loopback<Server extends net.Server> {
  constructor(protected readonly server: Server) {}

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as net.AddressInfo).port}/hook`;
  }

  async listen(): Promise<this> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  async close(): Promise<void> {
    await once(this.server.close(), 'close');
  }
}

const noContent: http.RequestListener = (_request, response) => void response.writeHead(204).end();

/** A receiver of webhooks, whose answers a test can change. */
export class Receiver extends Loopback<http.Server> {
  readonly received: Received[] = [];
  /** By default 204. */
  answer = noContent;

  private constructor() {
    super(http.createServer());
    this.server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        const { url: path = '', headers } = request;
        this.received.push({ path, headers: headers as Received['headers'], body });
        this.answer(request, response);
      });
    });
  }

  static start = (): Promise<Receiver> => new Receiver().listen();

  /** One for each of the tests around. */
  static forEach(): Receiver {
    const receiver = new Receiver();
    beforeEach(async () => {
      receiver.received.length = 0;
      receiver.answer = noContent;
      await receiver.listen();
    });
    afterEach(() => receiver.close());
    return receiver;
  }

  override close(): Promise<void> {
    this.server.closeAllConnections();
    return super.close();
  }
}

/** A server that treats each connection, byte by byte, as a test says. */
export class RawReceiver extends Loopback<net.Server> {
  connections = 0;
  private readonly sockets = new Set<net.Socket>();

  static start(treat: (socket: net.Socket) => void = () => undefined): Promise<RawReceiver> {
    const receiver = new RawReceiver(net.createServer());
    receiver.server.on('connection', (socket) => {
      receiver.connections++;
      receiver.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => receiver.sockets.delete(socket));
      treat(socket);
      // Unless it reads, a socket does not see the other end close.
      socket.resume();
    });
    return receiver.listen();
  }

  get open(): number {
    return this.sockets.size;
  }

  override close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    return super.close();
  }
}
