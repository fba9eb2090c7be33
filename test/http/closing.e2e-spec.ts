import type { Server } from 'node:http';
import { Readable } from 'node:stream';
import { Controller, Get, StreamableFile } from '@nestjs/common';
import { Compressed } from '../../src/common/crud/index.js';
import { eventually } from '../support/eventually.js';
import { RawConnection, rawHead } from '../support/raw-http.js';
import { createTestApp, serviceWith, type TestApp } from '../support/test-app.js';

/** Each ends an answer that is under way. */
const finishes: (() => void)[] = [];
const untilFinished = () => new Promise<void>((resolve) => finishes.push(resolve));

@Controller('slow')
class SlowController {
  @Get('whole')
  async whole(): Promise<object> {
    await untilFinished();
    return { text: 'x'.repeat(5_000) };
  }

  @Get('compressed')
  @Compressed()
  compressed(): Promise<object> {
    return this.whole();
  }

  @Get('stream')
  stream(): StreamableFile {
    const body = new Readable({ read: () => undefined });
    body.push('begin');
    void untilFinished().then(() => {
      body.push('end');
      body.push(null);
    });
    return new StreamableFile(body);
  }

  @Get('compressed-stream')
  @Compressed()
  compressedStream(): StreamableFile {
    return this.stream();
  }
}

/** Longer than a test may take: what waits for it does not end. */
const FOREVER_MS = 600_000;
const limits = { bodyMs: FOREVER_MS, stallMs: FOREVER_MS };
let app: TestApp;
let server: Server;
const clients: RawConnection[] = [];
/** A client that never ends its side by itself, and asks for one thing alone. */
function clientOf(...sent: string[]): RawConnection {
  const client = new RawConnection(app.url);
  client.write(...sent);
  clients.push(client);
  return client;
}

beforeEach(async () => {
  finishes.length = 0;
  app = await createTestApp({ root: serviceWith({ controllers: [SlowController] }), limits });
  server = app.app.getHttpServer() as Server;
  server.keepAliveTimeout = FOREVER_MS;
});
afterEach(async () => {
  clients.splice(0).forEach((client) => client.close());
  await app.close();
});

/** Begins to close, and resolves when the server takes no more connections. */
async function beginToClose(): Promise<{ ended: Promise<void> }> {
  const ended = app.app.close();
  await eventually(() => expect(server.listening).toBe(false));
  return { ended };
}

it('a server that closes ends after the answers that were under way, though their clients keep the connections', async () => {
  const paths = ['whole', 'compressed', 'stream', 'compressed-stream'];
  const waiting = paths.map((path) => clientOf(rawHead(`GET /slow/${path}`, 'Accept-Encoding: gzip')));
  await eventually(() => expect(finishes).toHaveLength(paths.length));
  for (const client of waiting.slice(2)) await client.receives('HTTP/1.1 200 OK');
  const { ended } = await beginToClose();
  for (const finish of finishes) finish();
  await ended;
  for (const [i, { received }] of waiting.entries()) {
    // All of it: the length is there, or the last chunk.
    expect(received).toMatch(/^HTTP\/1\.1 200 OK[^]*(?:content-length: \d+|\r\n0\r\n\r\n$)/i);
    expect(/^content-encoding: gzip\r$/im.test(received)).toBe(paths[i]?.startsWith('compressed'));
  }
});

it('a server that closes does not wait for the rest of a body that was refused before its end', async () => {
  const head = rawHead('POST /todos', 'Content-Type: application/json', 'Content-Length: 5000000');
  const client = clientOf(head, '{');
  await client.receives(/^HTTP\/1\.1 413/);
  const { ended } = await beginToClose();
  await ended;
});
