/** @slow */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { eventually } from '../support/eventually.js';
import { RawConnection } from '../support/raw-http.js';
import { useServices } from '../support/service-process.js';
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

let idle: RawConnection[] = [];

/** Opens connections that send nothing, one after the other. */
async function open(url: string, localAddress: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const connection = new RawConnection(url, localAddress);
    await once(connection.socket, 'connect');
    idle.push(connection);
  }
}

const areOpen = () => idle.map(({ socket }) => socket.readyState === 'open');

describe('connections', () => {
  const services = useServices();
  beforeEach(() => (idle = []));
  afterEach(() => idle.forEach((connection) => connection.close()));

  it.each([
    ['another network', '127.0.0.2'],
    ['the same network', '127.0.0.1'],
  ])('leave descriptors for the database and for clients of %s', async (_whose, address) => {
    const { url } = await services.start({}, '-n 256');
    await open(url, '127.0.0.1', 400);
    expect(await statusOf(`${url}/health/live`, address)).toBe(200);
    expect(await statusOf(`${url}/todos`, address, { title: 'Feed the cat' })).toBe(201);
    expect(await statusOf(`${url}/health/ready`, address)).toBe(200);
    await eventually(() => expect(areOpen().filter(Boolean).length).toBeLessThanOrEqual(64));
  });

  it('beyond the maximum cost the network with most of them its newest one', async () => {
    const app = await createTestApp({ limits: { maxConnections: 4 } });
    await open(app.url, '127.0.0.1', 3);
    await open(app.url, '127.0.0.2', 1);
    await open(app.url, '127.0.0.3', 1);
    await eventually(() => expect(areOpen()).toEqual([true, true, false, true, true]));
    await app.close();
  });
});
