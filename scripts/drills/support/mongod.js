import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { freePort } from '../../support/free-port.js';

/** The MongoDB server to start: `MONGOD`, or the one that CI has at hand. */
const BINARY = process.env.MONGOD ?? '../shared/bin/mongod';

/** A standalone MongoDB server of a drill's own, with its data in a temporary folder. */
export class Mongod {
  folder = mkdtempSync(join(tmpdir(), 'drill-mongod-'));

  /** Whether there is a server to start. */
  static get available() {
    return existsSync(BINARY);
  }

  constructor() {
    process.once('exit', () => this.clear());
  }

  async start() {
    this.port ??= await freePort();
    this.uri = `mongodb://127.0.0.1:${this.port}/drill`;
    const args = ['--port', String(this.port), '--bind_ip', '127.0.0.1', '--dbpath', this.folder];
    this.process = spawn(BINARY, args, { stdio: 'ignore' });
    const client = new mongoose.mongo.MongoClient(this.uri, { serverSelectionTimeoutMS: 60_000 });
    await client.db('admin').command({ ping: 1 });
    await client.close();
  }

  /** Stops it where it is; it goes on with SIGCONT. */
  signal(signal) {
    this.process.kill(signal);
  }

  async kill() {
    const ended = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await ended;
  }

  async remove() {
    if (this.process && this.process.exitCode === null && this.process.signalCode === null) await this.kill();
    this.clear();
  }

  /** Leaves nothing behind, however the drill ends. */
  clear() {
    this.process?.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}
