import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Closes connections on which a request or an answer has made no progress for some time. Node's own time-out
 * is not enough: a send that has begun gets it twice, since the system took some of its bytes during the
 * first. So a connection gets half of it at a time.
 *
 * @param stallMs the longest time without progress. Unit: milliseconds.
 */
export function closeStalledConnections(server: Server, stallMs: number): void {
  const halfMs = stallMs / 2;
  const moved = new WeakMap<Socket, number>();
  server.setTimeout(halfMs, (socket) => {
    const bytes = socket.bytesRead + socket.bytesWritten;
    // A different time-out is that of an idle connection, which ends.
    const isOver = socket.timeout !== halfMs || socket.writableLength > 0 || moved.get(socket) === bytes;
    if (isOver) {
      socket.destroy();
      return;
    }
    moved.set(socket, bytes);
    socket.setTimeout(halfMs);
  });
}
