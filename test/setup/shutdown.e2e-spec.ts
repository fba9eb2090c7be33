/** @slow */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type RequestOptions } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import { OpenImport } from '../support/import-client.js';
import { useDatabase } from '../support/mongodb.js';
import { restOf } from '../support/open-cursors.js';
import { RawConnection, rawHead } from '../support/raw-http.js';
import { storeTodos } from '../support/records.js';
import { type ServiceProcess, useServices } from '../support/service-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** Enough that a connection comes in every turn of the event loop, and fewer than the process has slots for. */
const CLIENTS = 120;
/** How many imports one address may have at the same time. */
const MAX_IMPORTS = 4;
/** Keeps a process busy for longer than a client may take to send its next request. */
const BUSY_ON_SIGUSR2 = `--import=data:text/javascript,${encodeURIComponent(
  "process.on('SIGUSR2', () => { process.stdout.write('Busy'); for (const end = Date.now() + 1_600; Date.now() < end; ); })",
)}`;
/** How long a slow client takes to send its next request. Unit: milliseconds. */
const SLOW_MS = 700;
/** More than the sockets between a client and the service can hold. */
const RECORDS = 2_500;

describe('SIGTERM', () => {
  const { uri, database } = useDatabase();
  const services = useServices();

  beforeAll(() => storeTodos(database, RECORDS));

  const start = (env = {}) => services.start({ MONGODB_URI: uri, ...env });

  /** Ends the service; its exit code. */
  async function stop(service: ServiceProcess, ...signals: NodeJS.Signals[]): Promise<number | null> {
    for (const signal of ['SIGTERM' as const, ...signals]) service.signal(signal);
    return (await service.ended()).code;
  }

  async function open(url: string, options: RequestOptions = {}): Promise<IncomingMessage> {
    const sent = request(url, options).end();
    return ((await once(sent, 'response')) as [IncomingMessage])[0];
  }
  /** One request on a kept connection. */
  async function get(url: string, agent: Agent) {
    const response = await open(url, { agent });
    const { connection, 'retry-after': retryAfter } = response.headers;
    const body = await restOf(response);
    return { status: response.statusCode, body, retryAfter, told: connection === 'close' };
  }

  /** Asks again and again, until nobody listens any more. Returns how that shows. */
  async function untilRefused(ask: () => Promise<unknown>) {
    try {
      for (;;) await ask();
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code !== 'ECONNRESET') expect(code).toBe('ECONNREFUSED');
      return code;
    }
  }

  it.each([
    ['another connection when they are told to', true],
    ['one for each request', false],
  ])('drops no request, and resets no connection, of clients that open %s', async (_when, keepAlive) => {
    const { service, url } = await start();
    const newClient = () => ({ agent: new Agent({ keepAlive, maxSockets: 1 }), answers: 0, told: false });
    const clients = Array.from({ length: CLIENTS }, newClient);
    const answered = clients.map(async (client) => {
      const end = await untilRefused(async () => {
        const { told, ...answer } = await get(`${url}/todos/count`, client.agent);
        expect(answer).toMatchObject({ status: 200, body: JSON.stringify({ count: RECORDS }) });
        client.answers += 1;
        client.told ||= told;
      });
      client.agent.destroy();
      return end;
    });
    const begun = eventually(() => expect(clients.every(({ answers }) => answers > 0)).toBe(true));
    await Promise.race([begun, ...answered]);
    const [code, ...ends] = await Promise.all([stop(service), ...answered]);
    // Those that the system completes between the last that is accepted and the end of listening cannot be saved.
    expect(ends.filter((end) => end === 'ECONNRESET').length).toBeLessThan(keepAlive ? 1 : CLIENTS);
    const read = (await service.ended()).stdout.split('\n').filter((line) => line.includes('/todos/count'));
    expect(read).toHaveLength(clients.reduce((sum, { answers }) => sum + answers, 0));
    // Others are refused without having been told.
    expect([code, clients.filter(({ told }) => keepAlive && !told)]).toEqual([0, []]);
  });

  it.each([
    ['of a slow client', false],
    ['that a busy process reads too late', true],
  ])('answers the next request %s, and closes its connection with that', async (_which, isBusy) => {
    const { service, url } = await start({ NODE_OPTIONS: BUSY_ON_SIGUSR2 });
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
    } else await pause(SLOW_MS);
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
    expect((await Promise.all([asking, once(silent.socket, 'close')]))[0]).toBe('ECONNREFUSED');
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
    const list = await open(`${url}/todos`, { agent: new Agent({ keepAlive: true }) });
    const ended = stop(service);
    await eventually(() => expect(fetch(`${url}/health/live`)).rejects.toThrow());
    expect(JSON.parse(await restOf(list))).toHaveLength(RECORDS);
    expect(await ended).toBe(0);
  });

  it('disconnects a client that does not read, ignores further signals, and still exits', async () => {
    const { service, url } = await start();
    const list = await open(`${url}/todos`);
    list.on('error', () => undefined);
    expect(await stop(service, 'SIGTERM', 'SIGINT', 'SIGTERM')).toBe(0);
    list.destroy();
  });

  it('exits while the database hangs, and answers each request of a connection', async () => {
    const proxy = await TcpProxy.before(uri);
    const { service, url } = await start({ MONGODB_URI: proxy.through(uri) });
    await proxy.turn('hang');
    const client = new RawConnection(url);
    client.write(rawHead('GET /todos/count').repeat(2));
    const answered = client.receives(/^HTTP\/1.1 503[^]*HTTP\/1.1 503/);
    expect(await Promise.all([stop(service), answered])).toEqual([0, undefined]);
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
    for (const open of imports) expect(await open.rest()).toEqual([]);
    const { code, stderr } = await service.ended();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});
