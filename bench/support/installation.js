import { spawn } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import mongoose from 'mongoose';
import { stopProcess } from './processes.js';

export { cpuOf, rssOf } from './processes.js';

/** The service with its own database: on MONGODB_URI, or the embedded database on disk. */
export class Installation {
  folder = mkdtempSync(join(tmpdir(), 'bench-'));
  secret = randomBytes(32).toString('hex');
  processes = [];
  client;

  constructor() {
    process.once('exit', () => this.clear());
    if (!process.env.MONGODB_URI) return;
    // For Node.js, several hosts are not a URL.
    this.uri = process.env.MONGODB_URI.replace(
      /^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/,
      `$1/bench_${randomBytes(6).toString('hex')}`,
    );
    this.client = new mongoose.mongo.MongoClient(this.uri);
  }

  async startService(worker) {
    const service = await this.start('dist/bundle/main.js', /Listening on (http:\S+?);/, { WORKER: worker });
    this.url = service.said;
    return service;
  }

  startWorker() {
    return this.start('dist/bundle/worker.js', /"msg":"(Working)/);
  }

  async stop(child) {
    await stopProcess(child);
    this.processes.splice(this.processes.indexOf(child), 1);
  }

  /** Stops all processes, and removes the database. */
  async remove() {
    for (const child of [...this.processes]) await this.stop(child);
    await this.client?.db().dropDatabase();
    await this.client?.close();
    this.clear();
  }

  /** Leaves no files or processes behind, however its user ends. */
  clear() {
    for (const child of this.processes) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  /**
   * Number of commands that the MongoDB has received, by name, from all clients; undefined on the embedded
   * database.
   */
  async commands() {
    if (!this.client) return undefined;
    const { metrics } = await this.client.db('admin').command({ serverStatus: 1 });
    const ours = ['find', 'insert', 'update', 'delete', 'findAndModify', 'aggregate', 'getMore', 'distinct'];
    return Object.fromEntries(ours.map((name) => [name, Number(metrics.commands[name]?.total ?? 0)]));
  }

  /** Sends a POST as a tenant, and resolves with the record and the time of its answer. */
  async post(path, tenant, body, agent) {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${this.token(tenant)}` };
    const sent = request(this.url + path, { method: 'POST', headers, agent });
    sent.end(JSON.stringify(body));
    const [answer] = await once(sent, 'response');
    let text = '';
    for await (const part of answer) text += part;
    if (answer.statusCode !== 201) throw new Error(`POST ${path} answered ${answer.statusCode}: ${text}`);
    return JSON.parse(text);
  }

  subscribe(tenant, url) {
    return this.post('/subscriptions', tenant, { url, events: ['posts.created'] });
  }

  token(tenant) {
    const encode = (part) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ tenant, exp: Math.floor(Date.now() / 1_000) + 7_200 })}`;
    return `${input}.${createHmac('sha256', this.secret).update(input).digest('base64url')}`;
  }

  async start(file, ready, variables = {}) {
    const args = process.env.PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.PROFILE}`] : [];
    const env = {
      ...process.env,
      NODE_ENV: 'development',
      PORT: '0',
      HOST: '127.0.0.1',
      JWT_SECRET: this.secret,
      DATA_DIR: this.folder,
      WEBHOOK_ALLOW_PRIVATE: 'true',
      ...(this.uri && { MONGODB_URI: this.uri }),
      ...variables,
    };
    const child = spawn(process.execPath, [...args, file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.processes.push(child);
    for await (const line of createInterface({ input: child.stdout })) {
      const said = ready.exec(line)?.[1];
      if (!said) continue;
      child.stdout.resume();
      return Object.assign(child, { said });
    }
    throw new Error(`${file} does not start; build it first: npm run build`);
  }
}

/** Sends creates over a number of connections, and returns the time of each. Unit: milliseconds. */
export async function timesOfCreates(installation, tenant, count, connections) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times = [];
  let begun = 0;
  const work = async () => {
    while (begun++ < count) {
      const started = performance.now();
      await installation.post('/posts/api', tenant, { title: 'Release notes', content: 'News.' }, agent);
      times.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  agent.destroy();
  return times;
}

/** A tenant by its number. */
export const tenantOf = (number) => `665f1c2ab7e3a90d${number.toString(16).padStart(8, '0')}`;

/** Text such as `p50 12 ms, p99 80 ms`. */
export function percentiles(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)]?.toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(1)} ms`;
}
