import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import type { Variables } from '../src/config/index.js';
import { eventually } from './support/eventually.js';
import { freePort } from './support/free-port.js';
import { freshDatabaseUri } from './support/mongodb.js';
import { buildService, ServiceProcess } from './support/service-process.js';
import { ACME, TEST_SECRET, tokenOf } from './support/tenants.js';

const WITHIN_MS = 10_000;
const REPLACED_WITHIN_MS = 30_000;
const CONNECTIONS = 6;

/** The processes that a process has started, by what Linux says. */
function childrenOf(pid = 0): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

/** A request with the connection that its agent gives it; its own, without one. */
async function send(
  url: string,
  { method = 'GET', body, agent = false }: { method?: string; body?: object; agent?: Agent | false } = {},
): Promise<{ status?: number; text: string; told: boolean }> {
  const authorization = `Bearer ${await tokenOf(ACME)}`;
  const sent = request(url, {
    method,
    agent,
    headers: { authorization, 'content-type': 'application/json' },
  });
  sent.end(body && JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode, text, told: response.headers.connection === 'close' };
}

describe('WEB_CONCURRENCY=2', () => {
  const uri = freshDatabaseUri();
  const started: ServiceProcess[] = [];
  let folder: string;

  beforeAll(() => buildService(), 60_000);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'processes-'));
  });
  afterEach(async () => {
    for (const running of started.splice(0)) {
      running.signal('SIGKILL');
      await running.ended();
    }
    rmSync(folder, { recursive: true, force: true });
  });
  afterAll(async () => {
    const client = new mongoose.mongo.MongoClient(uri);
    await client.db().dropDatabase();
    await client.close();
  });

  function spawn(env: Variables): ServiceProcess {
    const variables = { WEB_CONCURRENCY: '2', PORT: '0', DATA_DIR: folder, JWT_SECRET: TEST_SECRET };
    const running = ServiceProcess.spawn({ ...variables, ...env });
    started.push(running);
    return running;
  }

  const urlOf = (running: ServiceProcess) => running.says(/Listening on (http:[^;"]+);[^"]*; 2 processes/);

  async function stop(running: ServiceProcess): Promise<number | null> {
    const begun = performance.now();
    running.signal('SIGTERM');
    const { code } = await running.ended();
    expect(performance.now() - begun).toBeLessThan(WITHIN_MS);
    return code;
  }

  it('serves the embedded database from two processes, and ends them and it with 0', async () => {
    const running = spawn({});
    const url = await urlOf(running);
    const pids = childrenOf(running.pid);
    expect(pids).toHaveLength(2);
    const { status, text } = await send(`${url}/todos`, { method: 'POST', body: { title: 'Shared' } });
    expect(status).toBe(201);
    const { _id } = JSON.parse(text) as { _id: string };
    for (let i = 0; i < CONNECTIONS; i++) {
      expect(await send(`${url}/todos/${_id}`)).toMatchObject({ status: 200 });
      expect(await send(`${url}/health/ready`)).toMatchObject({ status: 200 });
    }
    expect(await stop(running)).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
  });

  it('continues without a killed process, and starts another in its place', async () => {
    const running = spawn({ MONGODB_URI: uri, PORT: String(await freePort()) });
    const url = await urlOf(running);
    const first = childrenOf(running.pid);
    // Each of the first two in turn, so that the second is left to a successor.
    for (const killed of first) {
      process.kill(killed, 'SIGKILL');
      await eventually(async () => {
        const now = childrenOf(running.pid);
        expect([now.length, now.includes(killed)]).toEqual([2, false]);
        for (let i = 0; i < CONNECTIONS; i++) {
          expect(await send(`${url}/todos/count`)).toMatchObject({ status: 200 });
        }
      }, REPLACED_WITHIN_MS);
    }
    const { stdout } = await Promise.all([running.ended(), stop(running)]).then(([ended]) => ended);
    expect(stdout.match(/A process has ended; another starts in \d+ ms/g)).toHaveLength(2);
  }, 90_000);

  it('breaks the connection that a killed process was handed and had not taken', async () => {
    const running = spawn({ MONGODB_URI: uri });
    const url = await urlOf(running);
    const [, stopped = 0] = childrenOf(running.pid);
    process.kill(stopped, 'SIGSTOP');
    await eventually(() => expect(readFileSync(`/proc/${stopped}/stat`, 'utf8')).toMatch(/\) T /));
    const outcomes: string[] = [];
    for (let i = 0; i < CONNECTIONS; i++) {
      void send(`${url}/todos/count`).then(
        ({ status }) => outcomes.push(String(status)),
        () => outcomes.push('broken'),
      );
    }
    const answered = Array.from({ length: CONNECTIONS - 1 }, () => '200');
    await eventually(() => expect(outcomes).toEqual(answered));
    process.kill(stopped, 'SIGKILL');
    await eventually(() => expect(outcomes).toEqual([...answered, 'broken']));
  });

  it('drops no request on SIGTERM', async () => {
    const running = spawn({ MONGODB_URI: uri });
    const url = await urlOf(running);
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    let answered = 0;
    const clients = Array.from({ length: CONNECTIONS }, async () => {
      for (;;) {
        const { status, told } = await send(`${url}/todos/count`, { agent });
        expect(status).toBe(200);
        answered += 1;
        if (told) return;
      }
    });
    await eventually(() => expect(answered).toBeGreaterThan(CONNECTIONS));
    const [code] = await Promise.all([stop(running), ...clients]);
    expect(code).toBe(0);
    agent.destroy();
  });

  it('ends with 0 if it is told to while its processes still start', async () => {
    const running = spawn({ MONGODB_URI: uri });
    await eventually(() => expect(childrenOf(running.pid)).not.toHaveLength(0));
    expect(await stop(running)).toBe(0);
  });

  it('explains in one line why it does not start', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const ended = await spawn({ MONGODB_URI: uri, PORT: String(port) }).ended();
    expect([ended.code, ended.stderr]).toEqual([
      1,
      'PORT is in use by another process. Stop it, or set PORT to a free one.\n',
    ]);
    taken.close();
  });

  it('shows the figures of both processes together, whichever is asked, and those of the queue once', async () => {
    const running = spawn({ MONGODB_URI: uri });
    const url = await urlOf(running);
    const figure = async (name: string) => {
      const { status, text } = await send(`${url}/metrics`);
      expect(status).toBe(200);
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    };
    for (let i = 0; i < CONNECTIONS; i++) {
      const created = await send(`${url}/posts/api`, { method: 'POST', body: { title: `Post ${i}` } });
      expect(created.status).toBe(201);
    }
    await eventually(async () => {
      for (let i = 0; i < CONNECTIONS; i++) {
        expect(await figure('notifications_events_recorded_total')).toBe(CONNECTIONS);
      }
    });
    const ofCreates = 'method="POST",route="/posts/api",status="201"';
    expect(await figure(`http_request_duration_seconds_count\\{${ofCreates}\\}`)).toBe(CONNECTIONS);
    expect(await figure(`http_request_duration_seconds_bucket\\{${ofCreates},le="\\+Inf"\\}`)).toBe(
      CONNECTIONS,
    );
    expect(await figure('notifications_queue_up')).toBe(1);
  });
});
