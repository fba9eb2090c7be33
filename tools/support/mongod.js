import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import mongoose from 'mongoose';
import { freePort, killProcess, startProcess, untilReady } from '../../scripts/support/processes.js';

/** The MongoDB server to start: `MONGOD`, or the one that CI provides. */
const BINARY = process.env.MONGOD ?? '../shared/bin/mongod';
const REPLICA_SET = 'drill';
/** How long an election may take on a busy machine. Unit: milliseconds. */
const ELECTED_MS = 120_000;

/** A MongoDB server, standalone or a member of a replica set, with its data in a temporary folder. */
export class Mongod {
  folder = mkdtempSync(join(tmpdir(), 'mongod-'));

  /** Whether there is a server to start. */
  static get available() {
    return existsSync(BINARY);
  }

  constructor({ binary = BINARY, replicaSet } = {}) {
    this.binary = binary;
    this.replicaSet = replicaSet;
    process.once('exit', () => this.clear());
  }

  /** Starts it on its port, with the data that it has left. */
  async start() {
    this.port ??= await freePort();
    this.host = `127.0.0.1:${this.port}`;
    this.uri = `mongodb://${this.host}/drill`;
    const args = ['--port', String(this.port), '--bind_ip', '127.0.0.1', '--dbpath', this.folder];
    // Its constant self-diagnosis costs time, and nobody needs it here.
    args.push('--setParameter', 'diagnosticDataCollectionEnabled=false');
    const set = this.replicaSet === undefined ? [] : ['--replSet', this.replicaSet];
    this.process = startProcess(this.binary, [...args, ...set], { stdio: 'ignore' });
    await untilReady(this.process, () => command(this.host, { ping: 1 }));
  }

  /** Sends a signal; SIGSTOP pauses the server, and it goes on with SIGCONT. */
  signal(signal) {
    this.process.kill(signal);
  }

  kill() {
    return killProcess(this.process);
  }

  async remove() {
    if (this.process) await this.kill();
    this.clear();
  }

  /** Leaves no data behind, however its user ends. */
  clear() {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Members of which one is the primary; a single one always is. */
export class ReplicaSet {
  constructor({ members = 3, binary } = {}) {
    this.members = Array.from({ length: members }, () => new Mongod({ binary, replicaSet: REPLICA_SET }));
  }

  /** Starts all members, and resolves when they have settled. */
  async start() {
    await Promise.all(this.members.map((member) => member.start()));
    if (this.uri === undefined) await this.initiate();
    await this.settled();
  }

  async initiate() {
    const hosts = this.members.map(({ host }) => host);
    const members = hosts.map((host, _id) => ({ _id, host }));
    await command(hosts[0], { replSetInitiate: { _id: REPLICA_SET, members } });
    this.uri = `mongodb://${hosts.join(',')}/drill?replicaSet=${REPLICA_SET}`;
  }

  /** The member that is the primary now; undefined during an election. */
  async primary() {
    const answers = await this.answers();
    return this.members[answers.findIndex((answer) => answer?.isWritablePrimary)];
  }

  /** Resolves when there is a primary, and every other member follows it. */
  async settled() {
    const deadline = Date.now() + ELECTED_MS;
    for (;;) {
      const answers = await this.answers();
      const primaries = answers.filter((answer) => answer?.isWritablePrimary).length;
      const others = answers.filter((answer) => answer?.secondary).length;
      if (primaries === 1 && others === this.members.length - 1) return;
      if (Date.now() > deadline) throw new Error('The replica set has not settled.');
      await pause(100);
    }
  }

  /** What each member says about itself. */
  answers() {
    return Promise.all(this.members.map(({ host }) => command(host, { hello: 1 }).catch(() => undefined)));
  }

  /** Makes the primary step down for another member, as for maintenance. */
  async stepDown() {
    await command((await this.primary()).host, { replSetStepDown: 20, secondaryCatchUpPeriodSecs: 10 });
  }

  async kill() {
    await Promise.all(this.members.map((member) => member.kill()));
  }

  async remove() {
    await Promise.all(this.members.map((member) => member.remove()));
  }
}

async function command(host, request) {
  const options = { directConnection: true, serverSelectionTimeoutMS: 2_000 };
  const client = new mongoose.mongo.MongoClient(`mongodb://${host}`, options);
  try {
    return await client.db('admin').command(request);
  } finally {
    await client.close();
  }
}
