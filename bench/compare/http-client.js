import { connect } from 'node:net';

const END_OF_HEAD = '\r\n\r\n';

/**
 * One connection that sends one request after another, as bytes, and reads only the status and length of an
 * answer: a load generator must cost less than the server that it measures. Accepts HTTP/1.1 with a
 * Content-Length, and reports anything else.
 */
export class Connection {
  #socket;
  #received = Buffer.alloc(0);
  #settle;

  /** Resolves with an open connection. */
  static open({ hostname, port }) {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      socket.once('connect', () => resolve(new Connection(socket)));
      socket.once('error', reject);
    });
  }

  constructor(socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('The server has closed the connection')));
  }

  /** Sends a request, and resolves with the status of its answer and the answer itself. */
  send(request) {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close() {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #take(chunk) {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const endOfHead = this.#received.indexOf(END_OF_HEAD);
    if (endOfHead === -1) return;
    const head = this.#received.latin1Slice(0, endOfHead + 2);
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
    const { resolve, reject } = this.#settle;
    if (length === undefined) return reject(new Error(`An answer has no Content-Length: ${head}`));
    const bodyAt = endOfHead + END_OF_HEAD.length;
    const end = bodyAt + Number(length);
    if (this.#received.length < end) return;
    const body = this.#received.subarray(bodyAt, end);
    this.#received = this.#received.subarray(end);
    resolve({ status: Number(head.slice(9, 12)), body });
  }
}
