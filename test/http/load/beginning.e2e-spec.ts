import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { createTestApp, serviceWith, type TestApp } from '../../support/test-app.js';

const CLIENTS = 200;

let begun = 0;

@Controller('begun')
class BegunController {
  @Get()
  begin(): object {
    return { begun: ++begun };
  }
}

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp({ root: serviceWith({ controllers: [BegunController] }) });
});
afterAll(() => app.close());

/** A connection that the service has accepted, since it has answered on it. */
async function connected(): Promise<Socket> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  await Promise.all([once(socket, 'data'), socket.write(request)]);
  return socket;
}

const request = 'GET /begun HTTP/1.1\r\nHost: localhost\r\n\r\n';

describe('requests that arrive at once', () => {
  it('begin in several turns of the event loop, so that those which have begun go on in between', async () => {
    const sockets = await Promise.all(Array.from({ length: CLIENTS }, connected));
    begun = 0;
    let largest = 0;
    let before = 0;
    const watch = () => {
      largest = Math.max(largest, begun - before);
      before = begun;
      if (begun < CLIENTS) setImmediate(watch);
    };
    const answers = sockets.map((socket) => once(socket, 'data'));
    for (const socket of sockets) socket.write(request);
    watch();
    await Promise.all(answers);
    expect(begun).toBe(CLIENTS);
    expect(largest).toBeLessThanOrEqual(2 * 16);
    for (const socket of sockets) socket.destroy();
  });
});
