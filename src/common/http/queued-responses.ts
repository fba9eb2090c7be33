import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { closeInStages, isClosing, stopReading } from './broken-requests.js';

/** So many requests may be behind another one on their connection; then it is closed. */
export const MAX_BEHIND = 32;

const connections = new WeakMap<Socket, Exchanges>();

/**
 * Bounds the requests that a connection has under way (RFC 9112, section 9.3.2): Node reads as many as there
 * are, in one go. Also closes the waiting responses when their connection closes. Node only closes the one that
 * is being sent, so what the others hold would never be released. Drops requests of connections that were
 * reset. Call it once the listeners that answer requests are there.
 */
export function boundQueuedResponses(server: Server): void {
  const answerers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { socket } = request;
    // Those that came with the last one are read already.
    if (isClosing(socket)) return;
    if (isReset(socket) && isTcp(server)) {
      socket.destroy();
      return;
    }
    const exchanges = connections.get(socket) ?? new Exchanges(socket);
    if (exchanges.begin(response) >= MAX_BEHIND) {
      response.setHeader('Connection', 'close');
      closeInStages(socket);
      stopReading(socket);
    }
    for (const answer of answerers) answer.call(server, request, response);
  });
}

/** A connection to a Unix domain socket has no address anyway. */
function isTcp(server: Server): boolean {
  return typeof server.address() !== 'string';
}

/**
 * Whether the client has reset the connection before its first request was read. Then there is no address to
 * count the request for, and nobody would read the answer.
 */
function isReset(socket: Socket): boolean {
  return socket.remoteAddress === undefined;
}

/** The requests of one connection, and the answers to them. */
class Exchanges {
  /** Responses that wait behind others, in their order. */
  private readonly queue = new Set<ServerResponse>();
  private turn = turn();
  private begunInTurn = 0;

  constructor(socket: Socket) {
    connections.set(socket, this);
    socket.once('close', () => this.close());
  }

  /** @returns how many are behind the first one: of those without an answer, or of those that this turn of the event loop has read */
  begin(response: ServerResponse): number {
    if (this.turn !== turn()) {
      this.turn = turn();
      this.begunInTurn = 0;
    }
    this.begunInTurn += 1;
    // Otherwise it has its connection to itself.
    if (response.socket === null) this.enqueue(response);
    return Math.max(this.queue.size, this.begunInTurn - 1);
  }

  private enqueue(response: ServerResponse): void {
    for (const earlier of this.queue) {
      if (!earlier.closed) break;
      this.queue.delete(earlier);
    }
    this.queue.add(response);
  }

  private close(): void {
    for (const response of this.queue) {
      // Node sees to those that have or had their turn.
      if (response.closed || response.socket !== null || response.writableFinished) continue;
      response.destroy();
      response.emit('close');
    }
  }
}

let turns = 0;
let isCounted = false;

/** The number of the turn of the event loop, of those that ask. */
function turn(): number {
  if (!isCounted) setImmediate(endTurn);
  isCounted = true;
  return turns;
}

function endTurn(): void {
  turns += 1;
  isCounted = false;
}
