/** @slow */
import { resolve } from 'node:path';
import { constants } from 'node:os';
import type { QueuedDelivery } from '../../../src/common/notifications/deliveries/delivery.entity.js';
import { eventually } from '../../support/eventually.js';
import { useDatabase } from '../../support/mongodb.js';
import { Receiver } from '../../support/receiver.js';
import { sendTo } from '../../support/send-to.js';
import { type ServiceProcess, useServices, WORKER_URL } from '../../support/service-process.js';
import { acme, TEST_SECRET } from '../../support/tenants.js';

const WITHIN_MS = 60_000;
const PRELOAD = resolve('test/support/failing-connections.js');
const CODES = [
  ...['ENETUNREACH', 'EHOSTUNREACH', 'ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EADDRNOTAVAIL'],
  ...['EAFNOSUPPORT', 'EACCES', 'EPERM', 'EINVAL', 'EMFILE', 'ENOBUFS', 'EPIPE'],
] as const;
const FAILURES = CODES.flatMap((code) =>
  ['thrown', 'at once', 'later'].flatMap((when) =>
    ['http', 'https'].map((scheme) => ({ code, when, scheme })),
  ),
).map((failure, i) => ({ ...failure, port: 20_001 + i }));
const FAILING_PORTS = JSON.stringify(
  Object.fromEntries(FAILURES.map(({ port, code, when }) => [port, { errno: -constants.errno[code], when }])),
);

describe.each([
  ['the API, which also delivers', 'inline'],
  ['a worker', 'off'],
])('%s', (_name, WORKER) => {
  const services = useServices();
  const receiver = Receiver.forEach();
  const { uri, database } = useDatabase();
  let running: { service: ServiceProcess; url: string }[];

  /** Starts the API, and the worker if it is a process of its own. */
  async function start() {
    const env = { MONGODB_URI: uri, FAILING_PORTS, JWT_SECRET: TEST_SECRET, WEBHOOK_ALLOW_PRIVATE: 'true' };
    const spawn = (entry: string, own: object) =>
      services.spawn({ ...env, ...own }, ['--import', PRELOAD, `dist/bundle/${entry}.js`]);
    const service = spawn('main', { PORT: '0', WORKER });
    running = [{ service, url: await service.url() }];
    if (WORKER === 'inline') return;
    const worker = spawn('worker', { WORKER_PORT: '0' });
    running.push({ service: worker, url: await worker.says(WORKER_URL) });
  }
  async function post(path: string, body: object): Promise<Record<string, string>> {
    const answer = await sendTo(running[0]?.url ?? '', 'POST', path, { body, token: acme });
    expect(answer.status).toBe(201);
    return answer.body as Record<string, string>;
  }
  const expectAlive = async () => {
    for (const { url } of running) expect((await fetch(`${url}/health/live`)).status).toBe(200);
  };
  const deliveries = () => database.collection<QueuedDelivery>('deliveries');

  it('survives every failure to connect, also when it finds such deliveries at its start', async () => {
    await start();
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

    for (const { service } of running) service.signal('SIGKILL');
    await Promise.all(running.map(({ service }) => service.ended()));
    await deliveries().updateMany({ status: 'pending' }, { $set: { dueAt: new Date() } });
    await start();
    await eventually(() => attempted(2), WITHIN_MS);
    await expectAlive();
  }, 150_000);
});
