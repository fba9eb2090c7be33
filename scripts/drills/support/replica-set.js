import { setTimeout as pause } from 'node:timers/promises';
import mongoose from 'mongoose';
import { Mongod } from './mongod.js';

const NAME = 'drill';
const MEMBERS = 3;
/** How long an election may take on a busy machine. Unit: milliseconds. */
const ELECTED_MS = 120_000;

/** Three members, one of which is the primary. */
export class ReplicaSet {
  members = Array.from({ length: MEMBERS }, () => new Mongod({ replicaSet: NAME }));

  async start() {
    await Promise.all(this.members.map((member) => member.start()));
    const hosts = this.members.map(({ host }) => host);
    this.uri = `mongodb://${hosts.join(',')}/drill?replicaSet=${NAME}`;
    const members = hosts.map((host, _id) => ({ _id, host }));
    await command(hosts[0], { replSetInitiate: { _id: NAME, members } });
    await this.settled();
  }

  /** The member that is the primary now; undefined during an election. */
  async primary() {
    const answers = await Promise.all(this.members.map(({ host }) => hello(host)));
    return this.members[answers.findIndex((answer) => answer?.isWritablePrimary)];
  }

  /** Resolves when there is a primary, and every other member follows it. */
  async settled() {
    const deadline = Date.now() + ELECTED_MS;
    for (;;) {
      const answers = await Promise.all(this.members.map(({ host }) => hello(host)));
      const primaries = answers.filter((answer) => answer?.isWritablePrimary).length;
      if (primaries === 1 && answers.filter((answer) => answer?.secondary).length === MEMBERS - 1) return;
      if (Date.now() > deadline) throw new Error('The replica set has not settled.');
      await pause(100);
    }
  }

  /** Makes the primary step down for another member, as for maintenance. */
  async stepDown() {
    await command((await this.primary()).host, { replSetStepDown: 20, secondaryCatchUpPeriodSecs: 10 });
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

const hello = (host) => command(host, { hello: 1 }).catch(() => undefined);
