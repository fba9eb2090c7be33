import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { freePort, startService, startWorker, stopProcess } from '../../scripts/support/processes.js';

/**
 * The built service with a database of its own: on a MongoDB, that of MONGODB_URI by default, or the embedded
 * database on disk. The service keeps its port when it is started again.
 */
export class Installation {
  folder = mkdtempSync(join(tmpdir(), 'installation-'));
  secret = randomBytes(32).toString('hex');
  processes = [];

  /**
   * @param uri of a MongoDB; nothing for the embedded database
   * @param env that processes of the service inherit
   */
  constructor({ uri = process.env.MONGODB_URI, env = process.env } = {}) {
    process.once('exit', () => this.clear());
    this.inherited = env;
    if (!uri) return;
    // For Node.js, several hosts are not a URL.
    this.uri = uri.replace(
      /^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/,
      `$1/installation_${randomBytes(6).toString('hex')}`,
    );
    this.client = new mongoose.mongo.MongoClient(this.uri);
  }

  /**
   * Starts the service, and resolves with its process.
   *
   * @param worker whether it also delivers: `inline` or `off`
   * @param variables further ones of its environment
   * @param options of {@link startService}
   */
  async startService(worker, variables, options) {
    this.port ??= await freePort();
    const env = { ...this.env(), WORKER: worker, ...variables };
    const service = await startService(env, { port: this.port, ...options });
    this.processes.push(service);
    this.url = service.url;
    return service;
  }

  /** @param options of {@link startWorker} */
  async startWorker(options) {
    const worker = await startWorker(this.env(), options);
    this.processes.push(worker);
    return worker;
  }

  env() {
    return {
      ...this.inherited,
      NODE_ENV: 'development',
      JWT_SECRET: this.secret,
      DATA_DIR: this.folder,
      WEBHOOK_ALLOW_PRIVATE: 'true',
      MONGODB_URI: this.uri ?? '',
    };
  }

  /** Stops all processes, and removes the database. */
  async remove() {
    for (const child of this.processes) await stopProcess(child);
    await this.client?.db().dropDatabase();
    await this.client?.close();
    this.clear();
  }

  /** Leaves no files behind, however its user ends. */
  clear() {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  /** Sends a POST as a tenant, and resolves with the record. */
  async post(path, tenant, body) {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${this.token(tenant)}` };
    const answer = await fetch(this.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (answer.status !== 201)
      throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  }

  subscribe(tenant, url, events = ['posts.created']) {
    return this.post('/subscriptions', tenant, { url, events });
  }

  token(tenant) {
    const encode = (part) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ tenant, exp: Math.floor(Date.now() / 1_000) + 7_200 })}`;
    return `${input}.${createHmac('sha256', this.secret).update(input).digest('base64url')}`;
  }
}

/** A tenant by its number. */
export const tenantOf = (number) => `665f1c2ab7e3a90d${number.toString(16).padStart(8, '0')}`;
