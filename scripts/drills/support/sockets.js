import { once } from 'node:events';
import { connect } from 'node:net';

const OPENED_AT_A_TIME = 100;

/** Connections that send bytes and read nothing, unless told to read: then each has a `status`. */
export async function openSockets(url, count, bytes, { reads = false } = {}) {
  const { hostname, port } = new URL(url);
  const sockets = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(OPENED_AT_A_TIME, count - sockets.length) }, async () => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(bytes);
      socket.isOpen = true;
      socket.on('close', () => (socket.isOpen = false));
      if (reads) readStatus(socket);
      return socket;
    });
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}

function readStatus(socket) {
  let text = '';
  socket.setEncoding('latin1').on('data', (part) => {
    text += part;
    socket.status ??= Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]) || undefined;
  });
  // Half-open, it would count as open forever.
  socket.on('end', () => socket.destroy());
}
