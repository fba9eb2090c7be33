/** @slow */
import { resolve } from 'node:path';
import { constants } from 'node:os';
import mongoose from 'mongoose';
import type { QueuedDelivery } from '../../../src/common/notifications/deliveries/delivery.entity.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { Receiver } from '../../support/receiver.js';
import { buildService, ServiceProcess } from '../../support/service-process.js';
import { ACME, TEST_SECRET, tokenOf } from '../../support/tenants.js';

const WITHIN_MS = 60_000;
const PRELOAD = resolve('test/support/failing-connections.js');
const WHEN = ['thrown', 'at once', 'later'];
const CODES = [
  ...['ENETUNREACH', 'EHOSTUNREACH', 'ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EADDRNOTAVAIL'],
  ...['EAFNOSUPPORT', 'EACCES', 'EPERM', 'EINVAL', 'EMFILE', 'ENOBUFS', 'EPIPE'],
] as const;
const FAILURES = CODES.flatMap((code) =>
  WHEN.flatMap((when) => ['http', 'https'].map((scheme) => ({ code, when, scheme }))),
).map((failure, i) => ({ ...failure, port: 20_001 + i }));
const FAILING_PORTS = JSON.stringify(
  Object.fromEntries(FAILURES.map(({ port, code, when }) => [port, { errno: -constants.errno[code], when }])),
);

describe.each([
  ['the API, which also delivers', { api: 'inline', worker: false }],
  ['a worker', { api: 'off', worker: true }],
])('%s', (_name, { api, worker }) => {
  const uri = freshDatabaseUri();
  const client = new mongoose.mongo.MongoClient(uri);
  let running: { process: ServiceProcess; url: string }[];
  let receiver: Receiver;

  beforeAll(async () => {
    buildService();
    receiver = await Receiver.start();
    await client.connect();
    running = await start();
  }, 60_000);
  afterAll(async () => {
    await kill();
    await client.db().dropDatabase();
    await client.close();
    await receiver.close();
  });

  /** Starts the API, and the worker if it is a process of its own. */
  async function start() {
    const env = { MONGODB_URI: uri, FAILING_PORTS, JWT_SECRET: TEST_SECRET, WEBHOOK_ALLOW_PRIVATE: 'true' };
    const args = (entry: string) => ['--import', PRELOAD, `dist/bundle/${entry}.js`];
    const service = ServiceProcess.spawn({ ...env, PORT: '0', WORKER: api }, args('main'));
    const started = [{ process: service, url: await service.url() }];
    if (!worker) return started;
    const delivering = ServiceProcess.spawn({ ...env, WORKER_PORT: '0' }, args('worker'));
    const url = await delivering.says(/health and metrics are at (http:[^"]+)/);
    return [...started, { process: delivering, url }];
  }
  async function kill(): Promise<void> {
    for (const { process } of running) process.signal('SIGKILL');
    await Promise.all(running.map(({ process }) => process.ended()));
  }
  async function post(path: string, body: object): Promise<Record<string, string>> {
    const headers = {
      Authorization: `Bearer ${await tokenOf(ACME)}`,
      'Content-Type': 'application/json',
    };
    const answer = await fetch(running[0]?.url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(201);
    return (await answer.json()) as Record<string, string>;
  }
  const expectAlive = async () => {
    for (const { url } of running) expect((await fetch(`${url}/health/live`)).status).toBe(200);
  };
  const deliveries = () => client.db().collection<QueuedDelivery>('deliveries');

  it('survives every failure to connect, also when it finds such deliveries at its start', async () => {
    const subscribe = (url: string) => post('/subscriptions', { url, events: ['posts.created'] });
    const failing = new Map<string, string>();
    for (const { code, when, scheme, port } of FAILURES) {
      const { _id = '' } = await subscribe(`${scheme}://127.0.0.1:${port}/`);
      failing.set(_id, `${code} ${when} ${scheme}`);
    }
    await subscribe(receiver.url);
    const nameOf = ({ subscription }: QueuedDelivery) => failing.get(String(subscription)) ?? 'good';
    await post('/posts/api', { title: 'Poison' });
    const attempted = async (times: number) => {
      const stored = await deliveries().find().toArray();
      expect(stored).toHaveLength(FAILURES.length + 1);
      const open = stored.filter(
        (one) => one.status === 'pending' && (nameOf(one) === 'good' || one.attempts.length < times),
      );
      expect(open.map(nameOf)).toEqual([]);
      return stored;
    };
    for (const delivery of await eventually(() => attempted(1), WITHIN_MS)) {
      expect(delivery).toMatchObject(
        nameOf(delivery) === 'good'
          ? { status: 'delivered', attempts: [{ status: 204 }] }
          : { status: 'pending', attempts: [{ error: expect.stringMatching(/^The .+\.$/) }] },
      );
    }
    await expectAlive();

    await kill();
    await deliveries().updateMany({ status: 'pending' }, { $set: { dueAt: new Date() } });
    running = await start();
    await eventually(() => attempted(2), WITHIN_MS);
    await expectAlive();
  }, 150_000);
});
