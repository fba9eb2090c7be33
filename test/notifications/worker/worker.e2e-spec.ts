/** @slow */
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import type { Variables } from '../../../src/config/index.js';
import { eventually } from '../../support/eventually.js';
import { useDatabase } from '../../support/mongodb.js';
import { type ServiceProcess, useServices, WORKER_URL } from '../../support/service-process.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

/** The TCP ports that a process listens on, by what Linux says of its sockets. */
function listeningPorts(pid: number): number[] {
  const files = readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${name}`)];
    } catch {
      // It has been closed meanwhile.
      return [];
    }
  });
  const tables = ['tcp', 'tcp6'].map((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8'));
  // Local address, remote one, the state "listens", and the number of the socket.
  const rows = tables.join('').matchAll(/:([0-9A-F]{4}) \S+ 0A(?: +\S+){5} +(\d+)/g);
  return [...rows].flatMap(([, port = '', socket]) =>
    files.includes(`socket:[${socket}]`) ? [parseInt(port, 16)] : [],
  );
}

describe('a worker', () => {
  const { uri } = useDatabase();
  const services = useServices();

  const spawn = (env: Variables) =>
    services.spawn({ DATA_DIR: services.folder, ...env }, ['dist/bundle/worker.js']);
  /** Starts one that listens. */
  async function start(env: Variables = { MONGODB_URI: uri }) {
    const worker = spawn({ WORKER_PORT: '0', ...env });
    return { worker, url: await worker.says(WORKER_URL) };
  }
  async function stop(running: ServiceProcess, ...signals: NodeJS.Signals[]): Promise<number | null> {
    for (const signal of signals) running.signal(signal);
    return (await running.ended()).code;
  }

  it('opens no port, and needs no key source in production, since it verifies no token, and makes none', async () => {
    const worker = spawn({ NODE_ENV: 'production', MONGODB_URI: uri });
    await worker.says(/"msg":"Working/);
    expect(listeningPorts(worker.pid ?? 0)).toEqual([]);
    expect(await stop(worker, 'SIGTERM')).toBe(0);
  });

  it('serves health and metrics on WORKER_PORT, and nothing else', async () => {
    const { worker, url } = await start();
    expect(listeningPorts(worker.pid ?? 0)).toEqual([Number(new URL(url).port)]);
    const json = async (path: string) => {
      const answer = await fetch(url + path);
      return [path, answer.status, await answer.json()];
    };
    for (const path of ['/health/live', '/health/ready'])
      expect(await json(path)).toEqual([path, 200, { status: 'ok' }]);
    const metrics = await fetch(`${url}/metrics`);
    const type = metrics.headers.get('content-type');
    expect([metrics.status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect(await metrics.text()).toMatch(/^process_start_time_seconds \d+$/m);
    for (const path of ['/posts/api', '/todos', '/subscriptions', '/events', '/docs', '/docs/openapi.json'])
      expect(await json(path)).toMatchObject([path, 404, { code: 'PATH_NOT_FOUND' }]);
    expect(await stop(worker, 'SIGINT')).toBe(0);
  });

  it('is not ready while its database is away, but still shows its metrics to requests with METRICS_TOKEN', async () => {
    const METRICS_TOKEN = 'scrape-me-with-this-token-and-no-other';
    const proxy = await TcpProxy.before(uri);
    const { worker, url } = await start({ MONGODB_URI: proxy.through(uri), METRICS_TOKEN });
    await proxy.turn('hang');
    const headers = { Authorization: `Bearer ${METRICS_TOKEN}` };
    const answers = [fetch(`${url}/health/ready`), fetch(`${url}/metrics`)];
    const metrics = await fetch(`${url}/metrics`, { headers });
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect([...statuses, metrics.status]).toEqual([503, 401, 200]);
    expect(await metrics.text()).toMatch(/^process_start_time_seconds \d+$/m);
    expect(await stop(worker, 'SIGTERM', 'SIGINT', 'SIGTERM')).toBe(0);
    await proxy.close();
  });

  it('does not start if its port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const port = String((taken.address() as AddressInfo).port);
    expect(await spawn({ MONGODB_URI: uri, WORKER_PORT: port }).ended()).toMatchObject({
      code: 1,
      stdout: expect.not.stringContaining('EADDRINUSE') as string,
      stderr: `WORKER_PORT ${port} is in use by another process. Stop it, or set WORKER_PORT to a free one.\n`,
    });
    taken.close();
  });

  it('shares the embedded database with an API process in either order, and each continues without the other', async () => {
    const ready = async (url: string) => expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    const first = await start({});
    const api = await services.start({ WORKER: 'off' });
    await Promise.all([ready(first.url), ready(api.url)]);
    expect(await stop(first.worker, 'SIGTERM')).toBe(0);
    await eventually(() => ready(api.url));
    const second = await start({});
    await ready(second.url);
    expect(await stop(api.service, 'SIGTERM')).toBe(0);
    await eventually(() => ready(second.url));
  });
});
