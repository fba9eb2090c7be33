import mongoose from 'mongoose';
import { EventClient } from '../event-client.js';
import { eventually } from '../eventually.js';
import { passTime } from '../own-clock.js';
import type { Random } from '../random.js';
import { ACME, GLOBEX, tokenOf } from '../tenants.js';
import type { TestApp } from '../test-app.js';
import { Changes, type Own, type Writer } from './changes.js';
import { Requests, type Sent } from './requests.js';
import { createPrivateApp } from './resources.js';
import { type Stored, SURFACES } from './surfaces.js';
import { WHO_SURFACES, whoModules } from './who.js';
import { answerOf, shareKey } from './worlds.js';

/** Records of one resource at a time, so that requests meet; above, the oldest are taken out of both worlds. */
const MAX_RECORDS = 8;
/** How often the records are read, for requests that aim at them. Unit: operations. */
const READ_EVERY = 20;
/** Identifiers that one request makes at most. */
const IDS_OF_ONE = 50;

/** The surfaces that others can write to without a trace. */
export const LIVE = [
  ...SURFACES.filter(({ name }) => ['keepers', 'vaults', 'cards', 'diaries'].includes(name)),
  ...WHO_SURFACES,
];

const SEEN = ['ada', 'bob', 'carol'];
const UNSEEN = ['eve', 'mallory'];

/**
 * Two services. Some callers send the same requests to both; others, whom they cannot see, each of theirs to one of the
 * two only. Clock and identifiers are the same in both, so that the answers must be, to the last byte.
 */
export class LiveWorlds {
  /** How many answers were compared, by status. */
  readonly compared: Record<string, number> = {};
  /** Resources that each side has created or changed records of. */
  readonly changed = { seen: new Set<string>(), unseen: new Set<string>() };
  private readonly records: Record<string, readonly Stored[]> = {};
  private readonly requests: Requests;
  /** By callers who are compared, and by the others: each takes the resources in turn. */
  private readonly changes: readonly [seen: Changes, unseen: Changes];
  private readonly seen: readonly Writer[];
  private readonly unseen: readonly Writer[];
  /** Identifiers of what the unseen have created in each world, and the others in both, by resource. */
  private readonly own: readonly [Own, Own, Own] = [{}, {}, {}];
  private number = 0;

  static async create(random: Random): Promise<LiveWorlds> {
    const apps = [await createPrivateApp(...whoModules()), await createPrivateApp(...whoModules())] as const;
    await shareKey(apps);
    const streams = apps.map(({ url }) => EventClient.open(url, { token: tokenOf(ACME) }));
    return new LiveWorlds(apps, await Promise.all(streams), random);
  }

  private constructor(
    private readonly apps: readonly [TestApp, TestApp],
    private readonly streams: readonly EventClient[],
    private readonly random: Random,
  ) {
    const person = (sub: string, tenant: string, more: object = {}): Writer => ({
      token: tokenOf(tenant, { sub, tenants: [tenant], ...more }),
      people: UNSEEN,
    });
    this.seen = SEEN.map((sub) => ({
      ...person(sub, ACME, { role: 'clerk' }),
      people: [...SEEN, ...UNSEEN],
    }));
    this.unseen = [
      person('eve', GLOBEX),
      person('mallory', GLOBEX, { roles: ['support', 'hr', 'admin'], role: 'admin' }),
      { ...person('eve', ACME, { role: 'admin' }), writes: ['dossiers'] },
    ];
    const tokens = this.seen.map(({ token }) => token);
    this.requests = new Requests(random, LIVE, this.records, tokens);
    this.changes = [new Changes(random, this.requests), new Changes(random, this.requests)];
  }

  /** Carries out random operations. @throws Error at the first difference */
  async carryOut(operations: number): Promise<void> {
    for (let i = 0; i < operations; i++) {
      if (this.number % READ_EVERY === 0) await this.read();
      const { random } = this;
      if (random.chance(0.3)) await this.interfere();
      else if (random.chance(0.5))
        await this.compare(this.changes[0].any(random.pick(this.seen), this.own[2]));
      else await this.compare(this.requests.any());
    }
  }

  /** Compares the events that a stream of each world shows; goes on until there are some. @returns their number */
  async compareEvents(): Promise<number> {
    const [one = [], other = []] = this.streams.map(({ events }) => events);
    const counts = (of: string, filter: object) =>
      Promise.all(this.apps.map(({ database }) => database.collection(of).countDocuments(filter)));
    const logged = () => counts('events', { tenant: ACME });
    while ((await logged())[0] === 0) await this.carryOut(READ_EVERY);
    await eventually(async () => {
      expect(await counts('remarks', { '_outbox.0': { $exists: true } })).toEqual([0, 0]);
      expect([one.length, other.length]).toEqual(await logged());
      expect(other).toEqual(one);
    });
    return one.length;
  }

  async close(): Promise<void> {
    for (const stream of this.streams) stream.close();
    await Promise.all(this.apps.map((app) => app.close()));
  }

  /** Sends a request to both worlds. */
  private async compare(request: Sent): Promise<void> {
    if (request.path.startsWith('/audits')) await this.auditsEnded();
    this.begin();
    const answers = [];
    for (const app of this.apps) answers.push(await this.send(app, request));
    const [one, other] = answers;
    expect({ number: this.number, request, answer: other }).toEqual({
      number: this.number,
      request,
      answer: one,
    });
    if (!one) return;
    this.compared[one.status] = (this.compared[one.status] ?? 0) + 1;
    if (one.status < 300 && request.name) {
      this.changed.seen.add(request.name);
      note(this.own[2], request.name, one.body);
    }
    if (one.status === 200) this.requests.learn(request, one.body);
  }

  /** Does something in one world that its callers cannot see. */
  private async interfere(): Promise<void> {
    this.begin();
    const { random } = this;
    const world = random.below(2);
    const [app, own] = [this.apps[world], this.own[world]] as [TestApp, Own];
    if (random.chance(0.2)) return this.hide(app);
    const request = this.changes[1].any(random.pick(this.unseen), own, true);
    const { status, body } = await this.send(app, request);
    expect({ request, isFault: status >= 500 }).toEqual({ request, isFault: false });
    if (status < 300) this.changed.unseen.add(request.name);
    note(own, request.name, body);
  }

  /** Changes a field that the callers cannot read. */
  private async hide(app: TestApp): Promise<void> {
    const { random } = this;
    const [name, field] = random.pick([
      ['tickets', 'salary'],
      ['keepers', 'secret'],
      ['vaults', 'box.secret'],
    ] as const);
    const known = this.records[name] ?? [];
    if (known.length === 0) return;
    const filter = {
      _id: random.pick(known)._id as never,
      ...(field === 'box.secret' && { box: { $exists: true } }),
    };
    await app.database.collection(name).updateOne(filter, { $set: { [field]: random.below(9) } });
  }

  /** Outcomes are stored a little later than the answers are sent. */
  private async auditsEnded(): Promise<void> {
    await eventually(async () => {
      for (const { database } of this.apps)
        expect(await database.collection('audits').countDocuments({ outcome: 'unknown' })).toBe(0);
    });
  }

  /** What the next request makes has the same identifiers and times in both worlds. */
  private begin(): void {
    this.number++;
    passTime(this.random.below(2));
  }

  private send(app: TestApp, request: Sent) {
    // Where the driver begins to count.
    Object.assign(mongoose.mongo.ObjectId, { index: (this.number * IDS_OF_ONE) % 0xff_ff_ff });
    return answerOf(app, request, String(this.number));
  }

  /** Notes what there is in any world. Old records leave both. */
  private async read(): Promise<void> {
    for (const { name } of LIVE) {
      const found = await Promise.all(this.apps.map((app) => contentOf(app, name)));
      const all = new Map(found.flat().map((record) => [String(record._id), record]));
      const old = [...all.values()].slice(0, -MAX_RECORDS).map(({ _id }) => _id as never);
      if (old.length > 0)
        for (const { database } of this.apps)
          await database.collection(name).deleteMany({ _id: { $in: old } });
      this.records[name] = [...all.values()].slice(-MAX_RECORDS);
    }
  }
}

/** Notes a record that has been created, and forgets the oldest. */
function note(own: Own, name: string, body: unknown): void {
  const { _id } = (body ?? {}) as { _id?: string };
  if (_id) own[name] = [...(own[name] ?? []), _id].slice(-MAX_RECORDS);
}

const contentOf = ({ database }: TestApp, name: string): Promise<Stored[]> =>
  database.collection(name).find().sort({ _id: 1 }).toArray();
