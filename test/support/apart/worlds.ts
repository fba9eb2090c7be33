import mongoose from 'mongoose';
import { EventClient } from '../event-client.js';
import { eventually } from '../eventually.js';
import { passTime } from '../own-clock.js';
import type { Random } from '../random.js';
import { ACME, GLOBEX, tokenOf } from '../tenants.js';
import type { TestApp } from '../test-app.js';
import { Changes, type Own, type Writer } from './changes.js';
import { Requests, type Sent } from './requests.js';
import { SURFACES, createWholeApp } from './resources.js';
import { REFERENCES, type Stored } from './surfaces.js';

const { Binary, ObjectId } = mongoose.mongo;

/** Records of one resource at a time, so that requests meet; above, the oldest are taken out of both worlds. */
const MAX_RECORDS = 8;
/** How often the records are read, for requests that aim at them. Unit: operations. */
const READ_EVERY = 20;
/** Identifiers that one request makes at most. */
const IDS_OF_ONE = 50;

const SEEN = ['ada', 'bob', 'carol'];
const UNSEEN = ['eve', 'mallory'];
/** What everybody may read: others cannot write it without a trace. */
const PUBLIC = ['posts', 'todos', 'notices'];

/** Two services with one clock and the same identifiers. Some callers use both, others, whom they cannot see, one of them. */
export class Worlds {
  /** How many answers were compared, by status. */
  readonly compared: Record<string, number> = {};
  /** Resources that each side has created or changed records of. */
  readonly changed = { seen: new Set<string>(), unseen: new Set<string>() };
  readonly requests: Requests;
  /** A caller whose answers are compared, and one without a token. */
  readonly callers: readonly (string | undefined)[];
  private readonly records: Record<string, readonly Stored[]> = {};
  /** By callers who are compared, and by the others: each takes the resources in turn. */
  private readonly changes: readonly [seen: Changes, unseen: Changes];
  private readonly seen: readonly Writer[];
  private readonly unseen: readonly Writer[];
  /** Identifiers of what the unseen have created in each world, and the others in both, by resource. */
  private readonly own: readonly [Own, Own, Own] = [{}, {}, {}];
  private number = 0;

  static async create(random: Random): Promise<Worlds> {
    const apps = [await createWholeApp(), await createWholeApp()] as const;
    // With one key, even the cursors must have the same text.
    const value = new Binary(Buffer.alloc(32, 7));
    for (const { database } of apps) {
      const key = { _id: 'cursors' as never };
      await database.collection('installation').replaceOne(key, { value }, { upsert: true });
    }
    const streams = apps.map(({ url }) => EventClient.open(url, { token: tokenOf(ACME) }));
    return new Worlds(apps, await Promise.all(streams), random);
  }

  private constructor(
    private readonly apps: readonly [TestApp, TestApp],
    private readonly streams: readonly EventClient[],
    private readonly random: Random,
  ) {
    const writes = SURFACES.map(({ name }) => name).filter((name) => !PUBLIC.includes(name));
    const person = (sub: string, tenant: string, more: object = {}): Writer => ({
      ...{ token: tokenOf(tenant, { sub, tenants: [tenant], ...more }), people: UNSEEN, writes },
    });
    const people = [...SEEN, ...UNSEEN];
    const clerk = { tenants: [ACME], role: 'clerk' };
    this.seen = [...SEEN.map((sub) => ({ token: tokenOf(ACME, { sub, ...clerk }), people })), { people }];
    this.unseen = [
      person('eve', GLOBEX),
      person('mallory', GLOBEX, { roles: ['support', 'hr', 'admin'], role: 'admin' }),
      { ...person('eve', ACME, { role: 'admin' }), writes: ['dossiers'] },
    ];
    const tokens = this.seen.map(({ token }) => token);
    this.callers = [tokens[0], undefined];
    this.requests = new Requests(random, SURFACES, this.records, tokens);
    this.changes = [new Changes(random, this.requests), new Changes(random, this.requests)];
  }

  /** Carries out random operations. @throws Error at the first difference */
  async carryOut(operations: number): Promise<void> {
    for (let i = 0; i < operations; i++) {
      if (this.number % READ_EVERY === 0) await this.read();
      const { random } = this;
      if (random.chance(0.35)) await this.interfere();
      else if (random.chance(0.1)) await this.entangle();
      else if (random.chance(0.5)) await this.change(this.own[2]);
      else await this.compare(this.requests.any());
    }
  }

  /** Tries to change a record, most often an own one; those of others stay as they are, whatever the answer. */
  async change(own: Own): Promise<void> {
    const request = this.changes[0].any(this.random.pick(this.seen), own);
    const before = await this.others(request.name);
    await this.compare(request);
    expect({ request, others: await this.others(request.name) }).toEqual({ request, others: before });
  }

  /** What no caller who is compared may change: records of another tenant, and those of one world alone. */
  private async others(name: string): Promise<Stored[][]> {
    const stored = await Promise.all(this.apps.map((app) => recordsOf(app, name)));
    const ids = stored.map((records) => new Set(records.map(({ _id }) => String(_id))));
    const isInBoth = ({ _id }: Stored) => ids.every((each) => each.has(String(_id)));
    return stored.map((records) =>
      records.filter(
        (record) => !isInBoth(record) || String(record.tenant === undefined ? ACME : record.tenant) !== ACME,
      ),
    );
  }

  /** Sends a request to both worlds. */
  async compare(request: Sent): Promise<void> {
    if (request.path.startsWith('/audits')) await this.auditsEnded();
    this.begin();
    const { number } = this;
    const [one, other] = [await this.send(this.apps[0], request), await this.send(this.apps[1], request)];
    expect({ number, request, answer: other }).toEqual({ number, request, answer: one });
    this.compared[one.status] = (this.compared[one.status] ?? 0) + 1;
    if (one.status < 300 && request.name) {
      this.changed.seen.add(request.name);
      note(this.own[2], request.name, one.body);
    }
    if (one.status === 200) this.requests.learn(request, one.body);
  }

  /** Compares the events that a stream of each world shows; goes on until there are some. @returns their number */
  async compareEvents(): Promise<number> {
    const [one = [], other = []] = this.streams.map(({ events }) => events);
    const counts = (of: string, filter: object) =>
      Promise.all(this.apps.map(({ database }) => database.collection(of).countDocuments(filter)));
    const logged = () => counts('events', { tenant: ACME });
    while ((await logged())[0] === 0) await this.carryOut(READ_EVERY);
    await eventually(async () => {
      for (const name of ['remarks', 'posts'])
        expect(await counts(name, { '_outbox.0': { $exists: true } })).toEqual([0, 0]);
      expect([one.length, other.length]).toEqual(await logged());
      expect(other).toEqual(one);
    });
    return one.length;
  }

  async close(): Promise<void> {
    for (const stream of this.streams) stream.close();
    await Promise.all(this.apps.map((app) => app.close()));
  }

  /** Does something in one world that its callers cannot see. */
  private async interfere(): Promise<void> {
    this.begin();
    const { random } = this;
    const world = random.below(2);
    const [app, own] = [this.apps[world], this.own[world]] as [TestApp, Own];
    if (random.chance(0.3)) return this.hide(app);
    const request = this.changes[1].any(random.pick(this.unseen), own, true);
    const { status, body } = await this.send(app, request);
    expect({ request, isFault: status >= 500 }).toEqual({ request, isFault: false });
    if (status < 300) this.changed.unseen.add(request.name);
    note(own, request.name, body);
  }

  /** Changes fields that the callers cannot read, or adds a record that they cannot. */
  private async hide({ database }: TestApp): Promise<void> {
    const { random } = this;
    const value = random.below(9);
    const foreign = new ObjectId(GLOBEX);
    const [name, changes, only] = random.pick<readonly [string, object, object?]>([
      ['tickets', { salary: value }],
      ['tickets', { salary: value }],
      ['keepers', { secret: `${value}`, formerly: value }],
      ['vaults', { 'box.secret': value, formerly: value }, { box: { $exists: true } }],
      ['notices', { fee: value }, { tenant: foreign }],
      ['notices', { withdrawn: true, fee: value }],
      ['posts', { tenant: foreign, deletedAt: new Date() }],
    ]);
    const records = this.records[name] ?? [];
    if (records.length === 0) return;
    const { _id, _outbox, ...donor } = random.pick(records);
    const collection = database.collection(name);
    const hides = 'withdrawn' in changes || 'deletedAt' in changes;
    if (hides) await collection.insertOne({ ...donor, ...changes, _id: new ObjectId(random.hex(24)) });
    else await collection.updateOne({ _id: _id as never, ...only }, { $set: changes });
    if (hides) this.changed.unseen.add(name);
  }

  /** Makes a record of both worlds another tenant's, or lets it refer to what its callers may not see. */
  private async entangle(): Promise<void> {
    const { random } = this;
    const [name = '', field = ''] = random
      .pick([
        'vaults.keeper',
        'cards.keeper',
        'notices.vault',
        'notices.diary',
        'tickets.dossier',
        'notices.tenant',
      ])
      .split('.');
    const target = REFERENCES[field] ?? 'tenants';
    const value = target === 'tenants' ? GLOBEX : random.pick(this.records[target] ?? [])?._id;
    const record = random.pick(this.records[name] ?? []);
    if (value === undefined || record === undefined) return;
    const change = { $set: { [field]: new ObjectId(String(value)) } };
    for (const { database } of this.apps)
      await database.collection(name).updateOne({ _id: record._id as never }, change);
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

  /** Sends a request to one world. @returns all that a client is told but the date */
  private async send(app: TestApp, { method, path, body, token, headers: sent }: Sent) {
    // Where the driver begins to count.
    Object.assign(ObjectId, { index: (this.number * IDS_OF_ONE) % 0xff_ff_ff });
    const all = { ...sent, 'X-Request-Id': `request-${this.number}` };
    const answer = await app.request(method, path, { body, token, headers: all });
    const headers = [...answer.headers].filter(([name]) => name !== 'date');
    return { ...answer, headers, body: answer.body as unknown };
  }

  /** Notes what there is in any world. Old records leave both. */
  private async read(): Promise<void> {
    for (const { name } of SURFACES) {
      const found = await Promise.all(this.apps.map((app) => recordsOf(app, name)));
      const all = [...new Map(found.flat().map((record) => [String(record._id), record])).values()];
      const old = all.slice(0, -MAX_RECORDS).map(({ _id }) => _id as never);
      if (old.length > 0)
        for (const { database } of this.apps)
          await database.collection(name).deleteMany({ _id: { $in: old } });
      this.records[name] = all.slice(-MAX_RECORDS);
    }
  }
}

/** Notes a record that has been created, and forgets the oldest. */
function note(own: Own, name: string, body: unknown): void {
  const { _id } = (body ?? {}) as { _id?: string };
  if (_id) own[name] = [...(own[name] ?? []), _id].slice(-MAX_RECORDS);
}

/** What a database holds of a resource, without the events that its process has yet to settle. */
const recordsOf = ({ database }: TestApp, name: string): Promise<Stored[]> =>
  database
    .collection(name)
    .find({}, { projection: { _outbox: 0 }, sort: { _id: 1 } })
    .toArray();
