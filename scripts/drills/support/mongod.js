import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mongoose from 'mongoose';
import { freePort } from '../../support/free-port.js';

/** The MongoDB server to start: `MONGOD`, or the one that CI provides. */
const BINARY = process.env.MONGOD ?? '../shared/bin/mongod';

/**
 * A drill's own MongoDB server, standalone or a member of a replica set, with its data in a temporary folder.
 */
export class Mongod {
  folder = mkdtempSync(join(tmpdir(), 'drill-mongod-'));

  /** Whether there is a server to start. */
  static get available() {
    return existsSync(BINARY);
  }

  constructor({ replicaSet } = {}) {
    this.replicaSet = replicaSet;
    process.once('exit', () => this.clear());
  }

  async start() {
    this.port ??= await freePort();
    this.host = `127.0.0.1:${this.port}`;
    this.uri = `mongodb://${this.host}/drill`;
    const args = ['--port', String(this.port), '--bind_ip', '127.0.0.1', '--dbpath', this.folder];
    // Its constant self-diagnosis costs time, and nobody needs it here.
    args.push('--setParameter', 'diagnosticDataCollectionEnabled=false');
    const set = this.replicaSet === undefined ? [] : ['--replSet', this.replicaSet];
    this.process = spawn(BINARY, [...args, ...set], { stdio: 'ignore' });
    const options = { directConnection: true, serverSelectionTimeoutMS: 60_000 };
    const client = new mongoose.mongo.MongoClient(this.uri, options);
    await client.db('admin').command({ ping: 1 });
    await client.close();
  }

  /** Sends a signal; SIGSTOP pauses the server, and it goes on with SIGCONT. */
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
