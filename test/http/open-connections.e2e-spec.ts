/** @slow */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually.js';
import { buildService, ServiceProcess } from '../support/service-process.js';
import { createTestApp } from '../support/test-app.js';

async function statusOf(url: string, localAddress: string, body?: object): Promise<number | undefined> {
  const headers = { 'Content-Type': 'application/json' };
  const method = body ? 'POST' : 'GET';
  const sent = request(url, { method, headers, localAddress, agent: false, timeout: 60_000 });
  sent.on('timeout', () => sent.destroy());
  sent.end(body && JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}

/** Opens connections that send nothing, one after the other. */
async function idle(url: string, localAddress: string, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    sockets.push(socket);
  }
  return sockets;
}

const isOpen = ({ readyState }: Socket) => readyState === 'open';

describe('connections', () => {
  let folder: string;
  let service: ServiceProcess | undefined;
  let sockets: Socket[] = [];
  beforeAll(() => buildService(), 60_000);
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'connections-'))));
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    service?.signal('SIGKILL');
    await service?.ended();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['another network', '127.0.0.2'],
    ['the same network', '127.0.0.1'],
  ])('leave descriptors for the database and for clients of %s', async (_whose, address) => {
    service = ServiceProcess.spawn({ DATA_DIR: folder, PORT: '0' }, undefined, '-n 256');
    const url = await service.url();
    sockets = await idle(url, '127.0.0.1', 400);
    expect(await statusOf(`${url}/health/live`, address)).toBe(200);
    expect(await statusOf(`${url}/todos`, address, { title: 'Feed the cat' })).toBe(201);
    expect(await statusOf(`${url}/health/ready`, address)).toBe(200);
    await eventually(() => expect(sockets.filter(isOpen).length).toBeLessThanOrEqual(64));
  });

  it('beyond the maximum cost the network with most of them its newest one', async () => {
    const app = await createTestApp({ limits: { maxConnections: 4 } });
    const many = await idle(app.url, '127.0.0.1', 3);
    const few = await idle(app.url, '127.0.0.2', 1);
    sockets = [...many, ...few, ...(await idle(app.url, '127.0.0.3', 1))];
    await eventually(() => expect(sockets.map(isOpen)).toEqual([true, true, false, true, true]));
    await app.close();
  });
});
