import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';

const ENDLESS = Buffer.alloc(64 * 1_024, 'x');
const INTERIM = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100);
const HEADERS = `${'x'.repeat(100)}: ${'y'.repeat(1_000)}\r\n`.repeat(50);

/** Behaviours of hostile receivers, each given the socket of a request. */
const HOSTILE = {
  'endless body': (socket) =>
    pour(socket, ENDLESS, 'HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n'),
  'endless header': (socket) => pour(socket, HEADERS, 'HTTP/1.1 200 OK\r\n'),
  'endless 1xx': (socket) => pour(socket, INTERIM),
  'a byte a second': drip,
  'redirect to loopback': (socket, port) =>
    socket.end(
      `HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:${port}/redirected\r\nContent-Length: 0\r\n\r\n`,
    ),
  'no answer': () => undefined,
};

export const HOSTILE_KINDS = Object.keys(HOSTILE);

/**
 * A receiver that answers 204 and calls back with the identifier of the post and the time at which the
 * message was read.
 */
export async function startGoodReceiver(onMessage) {
  const server = createHttpServer((request, answer) => {
    let text = '';
    request.on('data', (part) => (text += part));
    request.on('end', () => {
      answer.writeHead(204).end();
      onMessage(JSON.parse(text).data._id, performance.now(), request.url);
    });
  });
  return listening(server, () => server.closeAllConnections());
}

/** Receivers of every hostile kind, at `/<index of the kind>`; counts the requests to each path. */
export async function startHostileReceivers() {
  const requests = {};
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.once('data', (head) => {
      const path = /^\w+ (\S+)/.exec(head.toString('latin1'))?.[1] ?? '';
      requests[path] = (requests[path] ?? 0) + 1;
      HOSTILE[HOSTILE_KINDS[path.slice(1)]]?.(socket, server.address().port);
    });
  });
  const receiver = await listening(server, () => sockets.forEach((socket) => socket.destroy()));
  return { ...receiver, requests };
}

async function listening(server, cut) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.close();
    cut();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}

/** Writes without end, as fast as the other side reads. */
function pour(socket, chunk, head = '') {
  socket.write(head);
  const more = () => {
    while (socket.writable && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

function drip(socket) {
  const timer = setInterval(() => socket.write('H'), 1_000);
  socket.write('HTTP/1.1 200 OK\r\nX-Slow: ');
  socket.on('close', () => clearInterval(timer));
}
