import { connect } from 'node:net';

/** How long a flood may last. Unit: milliseconds. */
const LIMIT_MS = 90_000;

/**
 * Sends a head, and then a part repeatedly, until enough bytes have been sent or the server stops reading;
 * then the end, if everything was sent.
 *
 * @param end bytes that end the body
 * @returns status of the answer, undefined if there was none, and the number of bytes written to the socket
 */
export function flood(url, { head, part, bytes, end = '' }) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    let sent = 0;
    const timer = setTimeout(() => socket.destroy(), LIMIT_MS);
    const send = () => {
      while (!socket.destroyed && sent < bytes && answer === '') {
        sent += part.length;
        if (!socket.write(part)) return;
      }
      if (sent >= bytes) {
        socket.off('drain', send);
        socket.write(end);
      }
    };
    socket.on('connect', () => {
      socket.write(head);
      send();
    });
    socket.on('drain', send).on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (text) => {
      answer += text;
      if (isWhole(answer)) socket.destroy();
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]) || undefined, sent });
    });
  });
}

/** Whether an answer has come that announces its length. */
function isWhole(answer) {
  const [head, body] = answer.split(/\r\n\r\n([\s\S]*)/);
  return body !== undefined && body.length >= Number(/content-length: (\d+)/i.exec(head)?.[1] ?? NaN);
}
