import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from './support/eventually.js';
import { createTestApp, type TestApp } from './support/test-app.js';

describe('a client that resets its connection as soon as it has sent its request', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it('is no fault of the service', async () => {
    const server = app.app.getHttpServer();
    let accepted = 0;
    server.on('connection', () => (accepted += 1));
    for (let i = 0; i < 20; i++) {
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
      await once(socket, 'connect');
      socket.write('GET /todos?limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
      socket.resetAndDestroy();
    }
    await eventually(async () => {
      const open = await new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
      expect([accepted, open]).toEqual([20, 0]);
    });
    expect((await app.get('/todos')).status).toBe(200);
    expect(app.logLines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
