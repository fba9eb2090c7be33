import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TcpServer, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { whenClosed } from './when-closed.js';

/** How long a client may take to send its next request, whose answer tells it to go elsewhere. Unit: milliseconds. */
const NEXT_REQUEST_MS = 500;
/** How long to wait at most for a moment when nothing comes. Unit: milliseconds. */
const QUIET_MS = 3_000;

/** The connections of a server, which it gives up one after the other without losing a request. Make it before the server listens. */
export class OpenConnections {
  private readonly sockets = new Set<Socket>();
  private readonly unanswered = new Set<ServerResponse>();

  constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  /** From now on remembers which answers are due. */
  watch(): void {
    this.server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      this.unanswered.add(response);
      whenClosed(response, () => this.unanswered.delete(response));
    });
  }

  /** Takes no more connections, tells every client by its next answer, and then ends the connections that nobody uses. */
  async giveUp(): Promise<void> {
    // The system resets connections that wait to be taken when their server closes.
    await this.quiet('connection');
    // That of HTTP would end idle connections at once, whose next request may be on its way.
    TcpServer.prototype.close.call(this.server);
    for (const response of this.unanswered) endWith(response);
    this.server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      endWith(response);
    });
    // For answers that were under way already.
    this.server.keepAliveTimeout = NEXT_REQUEST_MS;
    await pause(NEXT_REQUEST_MS);
    // A connection whose next request has come, unread, would be reset.
    await this.quiet('request');
    this.server.closeIdleConnections();
    for (const socket of this.sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  /** Resolves right after the loop has read all that had come, and none of it was such an event. */
  private async quiet(event: 'connection' | 'request'): Promise<void> {
    let seen = 0;
    const count = () => (seen += 1);
    this.server.on(event, count);
    const deadline = performance.now() + QUIET_MS;
    let before: number;
    do {
      before = seen;
      await nextTurn();
    } while (seen > before && performance.now() < deadline);
    this.server.off(event, count);
  }
}

function endWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}
