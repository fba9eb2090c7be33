import type { Server } from 'node:http';
import { Readable } from 'node:stream';
import { Controller, Get, StreamableFile } from '@nestjs/common';
import { Compressed } from '../../src/common/crud/index.js';
import { eventually } from '../support/eventually.js';
import { RawConnection, rawHead } from '../support/raw-http.js';
import { createTestApp, serviceWith, type TestApp } from '../support/test-app.js';

/** Ends the answer that is under way. */
let finish: (() => void) | undefined;
const untilFinished = () => new Promise<void>((resolve) => (finish = resolve));

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
let client: RawConnection;
beforeEach(async () => {
  finish = undefined;
  app = await createTestApp({ root: serviceWith({ controllers: [SlowController] }), limits });
  server = app.app.getHttpServer() as Server;
  server.keepAliveTimeout = FOREVER_MS;
  // It never ends its side by itself, and asks for nothing else.
  client = new RawConnection(app.url);
});
afterEach(() => client.close());

/** Begins to close, and resolves when the server takes no more connections. */
async function beginToClose(): Promise<{ ended: Promise<void> }> {
  const ended = app.close();
  await eventually(() => expect(server.listening).toBe(false));
  return { ended };
}

it.each(['whole', 'compressed', 'stream', 'compressed-stream'])(
  'a server that closes ends after an answer that was under way, though its client keeps the connection: %s',
  async (path) => {
    client.write(rawHead(`GET /slow/${path}`, 'Accept-Encoding: gzip'));
    await eventually(() => expect(finish).toBeDefined());
    if (path.endsWith('stream')) await client.receives('HTTP/1.1 200 OK');
    const { ended } = await beginToClose();
    finish?.();
    await ended;
    // All of it: the length is there, or the last chunk.
    expect(client.received).toMatch(/^HTTP\/1\.1 200 OK[^]*(?:content-length: \d+|\r\n0\r\n\r\n$)/i);
    expect(/^content-encoding: gzip\r$/im.test(client.received)).toBe(path.startsWith('compressed'));
  },
);

it('a server that closes does not wait for the rest of a body that was refused before its end', async () => {
  client.write(rawHead('POST /todos', 'Content-Type: application/json', 'Content-Length: 5000000'), '{');
  await client.receives(/^HTTP\/1\.1 413/);
  const { ended } = await beginToClose();
  await ended;
});
