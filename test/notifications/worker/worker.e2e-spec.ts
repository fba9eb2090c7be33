/** @slow */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import mongoose from 'mongoose';
import type { Variables } from '../../../src/config/index.js';
import { eventually } from '../../support/eventually.js';
import { listeningPorts } from '../../support/listening-ports.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { type ServiceProcess, useServices } from '../../support/service-process.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

const WORKING = /"msg":"Working/;
const PORT_URL = /health and metrics are at (http:[^"]+)/;

describe('a worker', () => {
  const uri = freshDatabaseUri();
  const services = useServices();
  afterAll(async () => {
    const client = new mongoose.mongo.MongoClient(uri);
    await client.db().dropDatabase();
    await client.close();
  });

  const spawn = (env: Variables, entry = 'dist/bundle/worker.js') =>
    services.spawn({ DATA_DIR: services.folder, ...env }, [entry]);

  async function stop(running: ServiceProcess, ...signals: NodeJS.Signals[]): Promise<number | null> {
    for (const signal of signals) running.signal(signal);
    const { code } = await running.ended();
    return code;
  }

  it('opens no port, and needs no key source in production, since it verifies no token, and makes none', async () => {
    const worker = spawn({ NODE_ENV: 'production', MONGODB_URI: uri });
    await worker.says(WORKING);
    expect(listeningPorts(worker.pid ?? 0)).toEqual([]);
    expect(await stop(worker, 'SIGTERM')).toBe(0);
  });

  it('serves health and metrics on WORKER_PORT, and nothing else', async () => {
    const worker = spawn({ MONGODB_URI: uri, WORKER_PORT: '0' });
    const url = await worker.says(PORT_URL);
    expect(listeningPorts(worker.pid ?? 0)).toEqual([Number(new URL(url).port)]);
    for (const path of ['/health/live', '/health/ready']) {
      const answer = await fetch(url + path);
      expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }]);
    }
    const metrics = await fetch(`${url}/metrics`);
    expect([metrics.status, metrics.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    expect(await metrics.text()).toMatch(/^process_start_time_seconds \d+$/m);
    for (const path of ['/posts/api', '/todos', '/subscriptions', '/events', '/docs', '/docs/openapi.json']) {
      const answer = await fetch(url + path);
      expect([path, answer.status, await answer.json()]).toMatchObject([
        path,
        404,
        { code: 'PATH_NOT_FOUND' },
      ]);
    }
    expect(await stop(worker, 'SIGINT')).toBe(0);
  });

  it('shows its metrics to requests with METRICS_TOKEN', async () => {
    const METRICS_TOKEN = 'scrape-me-with-this-token-and-no-other';
    const worker = spawn({ MONGODB_URI: uri, WORKER_PORT: '0', METRICS_TOKEN });
    const url = `${await worker.says(PORT_URL)}/metrics`;
    expect((await fetch(url)).status).toBe(401);
    const headers = { Authorization: `Bearer ${METRICS_TOKEN}` };
    expect((await fetch(url, { headers })).status).toBe(200);
    expect(await stop(worker, 'SIGTERM', 'SIGINT', 'SIGTERM')).toBe(0);
  });

  it('is not ready while its database is away, but still shows its figures', async () => {
    const proxy = await TcpProxy.before(uri);
    const worker = spawn({ MONGODB_URI: proxy.through(uri), WORKER_PORT: '0' });
    const url = await worker.says(PORT_URL);
    await proxy.turn('hang');
    const [ready, metrics] = await Promise.all([fetch(`${url}/health/ready`), fetch(`${url}/metrics`)]);
    expect([ready.status, metrics.status]).toEqual([503, 200]);
    expect(await metrics.text()).toMatch(/^notifications_queue_up 0$/m);
    expect(await stop(worker, 'SIGTERM')).toBe(0);
    await proxy.close();
  });

  it.each<[string, Variables, string]>([
    ['WORKER_PORT', { WORKER_PORT: '65536' }, 'must be a whole number from 0 to 65535.'],
    [
      'MONGODB_URI',
      { NODE_ENV: 'production', MONGODB_URI: '' },
      'is required in production: a mongodb:// or mongodb+srv:// URI.',
    ],
  ])('does not start with a wrong %s: %j', async (name, variables, detail) => {
    const ended = await spawn({ MONGODB_URI: uri, ...variables }).ended();
    expect(ended).toEqual({ code: 1, stdout: '', stderr: `${name} ${detail}\n` });
  });

  it('does not start if DATA_DIR cannot be a folder, or if its port is taken', async () => {
    const file = join(services.folder, 'file');
    writeFileSync(file, '');
    const wrongFolder = await spawn({ DATA_DIR: file }).ended();
    expect(wrongFolder).toMatchObject({
      code: 1,
      stderr: `DATA_DIR must be a folder that can be written; ${file} is not.\n`,
    });
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const port = String((taken.address() as AddressInfo).port);
    const wrongPort = await spawn({ MONGODB_URI: uri, WORKER_PORT: port }).ended();
    expect(wrongPort).toMatchObject({
      code: 1,
      stderr: `WORKER_PORT ${port} is in use by another process. Stop it, or set WORKER_PORT to a free one.\n`,
    });
    taken.close();
  });

  it('shares the embedded database with an API process in either order, and each continues without the other', async () => {
    const env = { PORT: '0', WORKER: 'off' };
    const ready = async (url: string) => expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    const worker = spawn({ WORKER_PORT: '0' });
    const workerUrl = await worker.says(PORT_URL);
    const api = spawn(env, 'dist/bundle/main.js');
    const apiUrl = await api.url();
    await Promise.all([ready(workerUrl), ready(apiUrl)]);
    expect(await stop(worker, 'SIGTERM')).toBe(0);
    await eventually(() => ready(apiUrl));
    const second = spawn({ WORKER_PORT: '0' });
    const secondUrl = await second.says(PORT_URL);
    await ready(secondUrl);
    expect(await stop(api, 'SIGTERM')).toBe(0);
    await eventually(() => ready(secondUrl));
  });
});
