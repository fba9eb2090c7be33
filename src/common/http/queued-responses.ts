import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Responses that wait behind others on their connection, in their order. */
const queues = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Closes the responses of pipelined requests when their connection closes. Node closes the one alone that is being sent: what the
 * others hold would never be given back.
 */
export function closeQueuedResponses(server: Server): void {
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    // It has its connection to itself.
    if (response.socket !== null) return;
    const queue = queues.get(socket) ?? queueOf(socket);
    for (const earlier of queue) {
      if (!earlier.closed) break;
      queue.delete(earlier);
    }
    queue.add(response);
  });
}

function queueOf(socket: Socket): Set<ServerResponse> {
  const queue = new Set<ServerResponse>();
  queues.set(socket, queue);
  socket.once('close', () => {
    for (const response of queue) {
      // Node sees to those that have or had their turn.
      if (response.closed || response.socket !== null || response.writableFinished) continue;
      response.destroy();
      response.emit('close');
    }
  });
  return queue;
}
