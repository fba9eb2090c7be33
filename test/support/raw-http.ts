import { connect, type Socket } from 'node:net';
import { eventually } from './eventually.js';
import type { TestResponse } from './test-app.js';

/** A request byte by byte, for what `fetch` would mend or refuse to send. */
export interface RawRequest {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

/** Sends a request without touching its path or headers, and reads the answer. */
export function sendRaw(
  url: string,
  { method = 'GET', path, headers, body = '' }: RawRequest,
): Promise<TestResponse> {
  const content = Buffer.from(body as Uint8Array);
  const lines = {
    Host: new URL(url).host,
    Connection: 'close',
    ...(content.length > 0 && { 'Content-Length': String(content.length) }),
    ...headers,
  };
  const fields = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${fields.join('')}\r\n`);
  return sendBytes(url, Buffer.concat([head, content]));
}

/** The head of a request, or all of one without a body, from its request line and the lines of its headers. */
export const rawHead = (request: string, ...headers: string[]) =>
  [`${request} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');

/** Sends any bytes and reads the one answer to them, up to the end of the connection. */
export function sendBytes(url: string, bytes: string | Uint8Array): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = connect(Number(new URL(url).port), new URL(url).hostname, () => socket.write(bytes));
    socket.setTimeout(60_000, () => socket.destroy(new Error('No answer, or no end of it, within 60 s')));
    socket.on('data', (chunk) => received.push(chunk));
    socket.on('error', (error) => (received.length > 0 ? resolve(parse(received)) : reject(error)));
    socket.on('end', () => resolve(parse(received)));
  });
}

/** A connection to a service that a test writes to and ends by itself. */
export class RawConnection {
  readonly socket: Socket;
  /** All that has been received so far. */
  received = '';

  constructor(url: string, localAddress?: string) {
    this.socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
    this.socket.setEncoding('latin1').on('data', (text: string) => (this.received += text));
    // Breaking off is an error, too.
    this.socket.on('error', () => undefined);
  }

  write(...bytes: (string | Uint8Array)[]): void {
    for (const each of bytes) this.socket.write(each);
  }

  /** Waits until a text has been received. */
  receives(expected: string | RegExp): Promise<void> {
    return eventually(() => expect(this.received).toMatch(expected));
  }

  close(): void {
    this.socket.destroy();
  }
}

function parse(received: Buffer[]): TestResponse {
  const text = Buffer.concat(received).toString();
  const [head = '', content = ''] = text.split(/\r\n\r\n([\s\S]*)/);
  const [statusLine = '', ...fields] = head.split('\r\n');
  const headers = new Headers(fields.map((field) => field.split(/: ?([\s\S]*)/, 2) as [string, string]));
  const isJson = headers.get('content-type')?.includes('json') && content !== '';
  const body: unknown = isJson ? JSON.parse(content) : content || undefined;
  return { status: Number(statusLine.split(' ')[1]), headers, body, text: content };
}
