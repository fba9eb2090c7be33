/** @slow */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import mongoose from 'mongoose';
import { eventually } from '../support/eventually.js';
import { OpenImport } from '../support/import-client.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { RawConnection } from '../support/raw-http.js';
import { type ServiceProcess, useServices } from '../support/service-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const CLIENTS = 20;
/** How many imports one address may have at the same time. */
const MAX_IMPORTS = 4;
const MANY_CLIENTS = 50;
/** Keeps a process busy for longer than a client may take to send its next request. */
const BUSY_ON_SIGUSR2 = `--import=data:text/javascript,${encodeURIComponent(
  "process.on('SIGUSR2', () => { process.stdout.write('Busy'); for (const end = Date.now() + 1_600; Date.now() < end; ); })",
)}`;
/** More than the sockets between a client and the service can hold. */
const RECORDS = 1_500;

describe('SIGTERM', () => {
  const uri = freshDatabaseUri();
  const client = new mongoose.mongo.MongoClient(uri);
  const services = useServices();

  beforeAll(async () => {
    const moments = { createdAt: new Date(), updatedAt: new Date() };
    const todo = { description: 'x'.repeat(10_000), completed: false, ...moments, __v: 0 };
    const todos = Array.from({ length: RECORDS }, (_, i) => ({ title: `Todo ${i}`, ...todo }));
    await client.db().collection('todos').insertMany(todos);
  });
  afterAll(async () => {
    await client.db().dropDatabase();
    await client.close();
  });

  const start = (mongodbUri = uri) => services.start({ MONGODB_URI: mongodbUri });

  /** Ends the service; its exit code. */
  async function stop(service: ServiceProcess, ...signals: NodeJS.Signals[]): Promise<number | null> {
    for (const signal of ['SIGTERM' as const, ...signals]) service.signal(signal);
    return (await service.ended()).code;
  }

  /** One request on a kept connection. */
  async function get(url: string, agent: Agent) {
    const sent = request(url, { agent }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let body = '';
    for await (const chunk of response.setEncoding('utf8')) body += chunk;
    const { connection, 'retry-after': retryAfter } = response.headers;
    return { status: response.statusCode, body, retryAfter, told: connection === 'close' };
  }

  /** Asks again and again, until nobody listens any more. */
  async function untilRefused(ask: () => Promise<unknown>): Promise<void> {
    try {
      for (;;) await ask();
    } catch (error) {
      expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    }
  }

  it('drops no request on connections that are kept, and tells their clients to reconnect', async () => {
    const { service, url } = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
    let answered = 0;
    const expected = JSON.stringify({ count: RECORDS });
    const clients = Array.from({ length: CLIENTS }, async () => {
      for (;;) {
        const answer = await get(`${url}/todos/count`, agent);
        expect(answer).toMatchObject({ status: 200, body: expected });
        answered += 1;
        if (answer.told) return;
      }
    });
    await eventually(() => expect(answered).toBeGreaterThan(CLIENTS));
    const [code] = await Promise.all([stop(service), ...clients]);
    expect(code).toBe(0);
    agent.destroy();
  });

  it.each([
    ['another one when they are told to', true],
    ['one for each request', false],
  ])('resets no connection of clients that open %s', async (_when, keepAlive) => {
    const { service, url } = await start();
    const failures: string[] = [];
    const agents = Array.from({ length: MANY_CLIENTS }, () => new Agent({ keepAlive, maxSockets: 1 }));
    await Promise.all(agents.map((agent) => get(`${url}/health/live`, agent)));
    const clients = agents.map(async (agent) => {
      try {
        for (;;) {
          const { status } = await get(`${url}/todos/count`, agent);
          if (status !== 200) failures.push(String(status));
        }
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'ECONNREFUSED') failures.push(String(code));
      } finally {
        agent.destroy();
      }
    });
    const [code] = await Promise.all([stop(service), ...clients]);
    expect(failures).toEqual([]);
    expect(code).toBe(0);
  });

  it.each([
    ['of a slow client', false],
    ['that a busy process reads too late', true],
  ])('answers the next request %s, and closes its connection with that', async (_which, isBusy) => {
    const { service, url } = await services.start({ MONGODB_URI: uri, NODE_OPTIONS: BUSY_ON_SIGUSR2 });
    const slow = new Agent({ keepAlive: true, maxSockets: 1 });
    await get(`${url}/health/live`, slow);
    const ended = stop(service);
    await eventually(async () => {
      const other = new RawConnection(url);
      const connected = once(other.socket, 'connect').finally(() => other.close());
      await expect(connected).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    });
    if (isBusy) {
      service.signal('SIGUSR2');
      await service.says(/Busy/);
    }
    expect(await get(`${url}/health/live`, slow)).toMatchObject({ status: 200, told: true });
    expect(await ended).toBe(0);
    slow.destroy();
  });

  it('during the notice keeps connections, turns readiness 503 and keeps liveness; then closes idle ones', async () => {
    const { service, url } = await start();
    const silent = new RawConnection(url);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await get(`${url}/health/ready`, agent)).toMatchObject({ status: 200 });
    const ready: Awaited<ReturnType<typeof get>>[] = [];
    const live: (number | undefined)[] = [];
    const asking = untilRefused(async () => {
      ready.push(await get(`${url}/health/ready`, agent));
      live.push((await get(`${url}/health/live`, agent)).status);
    });
    const ended = stop(service);
    await Promise.all([once(silent.socket, 'close'), asking]);
    expect(ready).toContainEqual(expect.objectContaining({ status: 503, told: false }));
    for (const { status, retryAfter, body } of ready.filter(({ status }) => status !== 200)) {
      expect([status, retryAfter]).toEqual([503, '1']);
      expect(JSON.parse(body)).toMatchObject({ code: 'SHUTTING_DOWN', status: 503 });
    }
    expect(new Set(live)).toEqual(new Set([200]));
    expect(await ended).toBe(0);
    agent.destroy();
  });

  it('finishes a long list that is on its way', async () => {
    const { service, url } = await start();
    const sent = request(`${url}/todos`, { agent: new Agent({ keepAlive: true }) }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const ended = stop(service);
    await eventually(() => expect(fetch(`${url}/health/live`)).rejects.toThrow());
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    expect(JSON.parse(Buffer.concat(chunks).toString())).toHaveLength(RECORDS);
    expect(await ended).toBe(0);
  });

  it('disconnects a client that does not read, ignores further signals, and still exits', async () => {
    const { service, url } = await start();
    const sent = request(`${url}/todos`).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    expect(await stop(service, 'SIGTERM', 'SIGINT', 'SIGTERM')).toBe(0);
    sent.destroy();
  });

  it('exits while the database hangs', async () => {
    const proxy = await TcpProxy.before(uri);
    const { service, url } = await start(proxy.through(uri));
    await proxy.turn('hang');
    const answer = fetch(`${url}/todos/count`);
    const [code, { status }] = await Promise.all([stop(service), answer]);
    expect(status).toBe(503);
    expect(code).toBe(0);
    await proxy.close();
  });

  it('answers as many imports as there may be for the lines that they sent, tells where they were cut off, and warns of none', async () => {
    const { service, url } = await start();
    const imports = Array.from({ length: MAX_IMPORTS }, () => new OpenImport(`${url}/todos/import`));
    for (const open of imports) open.write('{"title":"before"}\n{"title":"cut');
    for (const open of imports) expect(await open.next()).toMatchObject({ line: 1, status: 201 });
    service.signal('SIGTERM');
    for (const open of imports)
      expect(await open.next()).toMatchObject({ line: 2, status: 503, code: 'SHUTTING_DOWN' });
    for (const open of imports) {
      open.end();
      expect(await open.next()).toBeUndefined();
    }
    const { code, stderr } = await service.ended();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});
