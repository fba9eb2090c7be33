import { connect, type Socket } from 'node:net';
import { eventually } from '../support/eventually.js';
import { createTestApp, type TestApp } from '../support/test-app.js';

const HEAD = 'POST /todos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const SENT = Buffer.from(`${HEAD}Content-Length: 1000000\r\n\r\n{"title":"${'x'.repeat(900_000)}`);

describe('many bodies of which the rest does not arrive', () => {
  let app: TestApp;
  const sockets: Socket[] = [];
  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await app.close();
  });

  it('give way, those that began first, to bodies that do arrive', async () => {
    const answers: string[] = [];
    for (let i = 0; i < 90; i++) {
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1', () => socket.write(SENT));
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => (answers[i] = `${answers[i] ?? ''}${String(bytes)}`));
      sockets.push(socket);
    }
    await eventually(() => expect(Object.values(answers).join('')).toMatch(/^HTTP\/1\.1 503 .*/));
    const whole = await app.post('/todos', { title: 'x', description: 'y'.repeat(500_000) });
    expect(whole.status).toBe(400);
    expect((await app.post('/todos', { title: 'Water the plants' })).status).toBe(201);
    // 64 MiB of them fit.
    expect(Object.keys(answers).length).toBeLessThanOrEqual(90 - 74 + 2);
  });
});
