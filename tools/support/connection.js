import { Buffer } from 'node:buffer';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

/** How long an answer may take; the service answers within five seconds. Unit: milliseconds. */
const LIMIT_MS = 30_000;

/** One connection that sends one request at a time with little effort, so that thousands of them fit into a process. */
export class Connection {
  received = '';

  /** @param from the address that it comes from */
  constructor(url, { limitMs = LIMIT_MS, from } = {}) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ port: Number(port), host: hostname, localAddress: from, noDelay: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text) => this.read(text));
    this.socket.on('error', (error) => this.fail(error)).on('close', () => this.fail(new Error('closed')));
    this.socket.setTimeout(limitMs, () => {
      if (this.waiting) this.socket.destroy(new Error(`no answer within ${limitMs / 1_000} s`));
    });
  }

  /**
   * Sends a request made by {@link requestOf}.
   *
   * @returns status, value of Retry-After and text of the answer, and how long it took (unit: milliseconds); rejects without one
   */
  send(bytes) {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject, begun: performance.now() };
      if (this.socket.destroyed) this.fail(new Error('closed'));
      else this.socket.write(bytes);
    });
  }

  close() {
    this.socket.destroy();
  }

  read(text) {
    this.received += text;
    const end = this.received.indexOf('\r\n\r\n');
    if (end === -1) return;
    const head = this.received.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.received.length < end + 4 + length) return;
    const answer = {
      status: Number(head.slice(9, 12)),
      retryAfter: Number(/\r\nretry-after: (\d+)/i.exec(head)?.[1] ?? 0),
      text: this.received.slice(end + 4, end + 4 + length),
    };
    this.received = '';
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.resolve({ ...answer, ms: performance.now() - waiting.begun });
  }

  fail(error) {
    const { waiting } = this;
    this.waiting = undefined;
    waiting?.reject(error);
  }
}

/** The bytes of a request. */
export function requestOf(method, path, { token, body, key } = {}) {
  const content = body === undefined ? '' : JSON.stringify(body);
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    ...(token ? [`Authorization: Bearer ${token}`] : []),
    ...(key ? [`Idempotency-Key: ${key}`] : []),
    ...(content ? ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(content)}`] : []),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${content}`);
}
