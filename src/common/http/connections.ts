import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TcpServer, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { OverloadedError } from '../errors/index.js';
import { whenClosed } from '../platform/index.js';
import { FairSlots, slotOwner } from './load/fair-slots.js';

/** How many connections there may be, and how long a client may take before its connection is closed. */
export interface ConnectionLimits {
  /**
   * Connections at a time; fewer if the system allows the process fewer descriptors.
   *
   * @default 20000
   */
  readonly maxConnections: number;
  /**
   * For the head of a request, from its first byte or the opening of the connection. Unit: milliseconds.
   *
   * @default 10000
   */
  readonly headersMs: number;
  /** For a whole request body; a stream of lines may take longer. Unit: milliseconds. @default 20000 */
  readonly bodyMs: number;
  /**
   * Without progress of a request or an answer: at most this, at least half of it. Unit: milliseconds.
   *
   * @default 60000
   */
  readonly stallMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 20_000,
  headersMs: 10_000,
  bodyMs: 20_000,
  stallMs: 60_000,
};

/** Descriptors that are left for the database, files, webhooks and keys. */
const RESERVE = 512;
/** The reserve takes no more of a small limit than this. */
const MAX_RESERVED = 3 / 4;

/**
 * Bounds the connections of a server. One more than that costs the network with most connections its newest one, so
 * that there is always room for others.
 */
export function boundConnections(server: Server, maxConnections: number): void {
  const descriptors = maxDescriptors();
  const room = descriptors - Math.min(RESERVE, Math.floor(descriptors * MAX_RESERVED));
  const limits = { maxInAll: Math.min(maxConnections, room), maxPerClient: Infinity };
  const slots = new FairSlots(limits, () => new OverloadedError());
  server.on('connection', (socket: Socket) => {
    const owner = slotOwner(socket.remoteAddress ?? '');
    const leave = slots.takeAnyway(owner, () => void socket.destroy());
    socket.once('close', leave);
  });
}

/** How many descriptors this process may have; any number where the system does not say. */
function maxDescriptors(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/**
 * How long a client may take to send its next request, whose answer then closes the connection. Unit:
 * milliseconds.
 */
const NEXT_REQUEST_MS = 1_500;
/** How often to look whether all connections are closed before that. Unit: milliseconds. */
const CHECK_MS = 25;
/** Maximum time to wait for a moment without new events. Unit: milliseconds. */
const QUIET_MS = 3_000;

/**
 * The connections of a server, which it can give up without losing a request. Create it before the server
 * listens.
 */
export class OpenConnections {
  private readonly sockets = new Set<Socket>();
  private readonly unanswered = new Set<ServerResponse>();

  constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  /** Starts to track which requests have not been answered. */
  watch(): void {
    this.server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      this.unanswered.add(response);
      whenClosed(response, () => this.unanswered.delete(response));
    });
  }

  /** Accepts no more connections, closes each one with its next answer, and then ends those that are idle. */
  async giveUp(): Promise<void> {
    // When a server closes, the system resets connections that it has not accepted yet.
    await this.quiet('connection');
    // The HTTP server's own close would end idle connections at once, although a request may be on its way.
    TcpServer.prototype.close.call(this.server);
    for (const response of this.unanswered) endWith(response);
    this.server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      endWith(response);
    });
    // For answers that were already being sent.
    this.server.keepAliveTimeout = NEXT_REQUEST_MS;
    const deadline = performance.now() + NEXT_REQUEST_MS;
    while (this.sockets.size > 0 && performance.now() < deadline) await pause(CHECK_MS);
    // A connection with an unread next request would be reset.
    await this.quiet('request');
    this.server.closeIdleConnections();
    for (const socket of this.sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  /** Resolves after a turn of the event loop without such an event. */
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
