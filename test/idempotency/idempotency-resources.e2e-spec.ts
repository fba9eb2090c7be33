/** @mongodb */
import { ConflictException, ImATeapotException, Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule, CrudService, InjectCrudService } from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import { claim, type TenantScope } from '../../src/common/tenancy/index.js';
import { eventually } from '../support/eventually.js';
import { expectReplay, forgetAnswers, isReplay, repeated } from '../support/replays.js';
import { type Made, OF_TENANT, resource } from '../support/resource.js';
import { useResourceApp } from '../support/resource-app.js';
import { commandsOf } from '../support/sent-commands.js';
import { ACME, acme, tokenOf } from '../support/tenants.js';

const lines = resource({ name: 'lines', bulk: true, import: true });

class OrderInput {
  @IsText({ max: 80 }) text!: string;
  @Prop({ type: String, unique: true, sparse: true }) @IsText({ max: 20, optional: true }) code?: string;
}

/** What the hooks of orders were called for, and what they wait for. */
const watched = {
  calls: [] as string[],
  gate: Promise.resolve(),
  failure: undefined as (() => Error) | undefined,
};

/** Lets the hooks wait until what it gives back is called. */
function closeGate() {
  let open = (): void => undefined;
  watched.gate = new Promise((resolve) => (open = resolve));
  return () => open();
}

const orders = resource({
  name: 'orders',
  fields: OrderInput,
  ...OF_TENANT,
  hooks: {
    async beforeCreate({ record }) {
      watched.calls.push(`before ${String(record.text)}`);
      await watched.gate;
      if (watched.failure) throw watched.failure();
    },
    afterCreate: ({ record }) => void watched.calls.push(`after ${String(record.text)}`),
  },
  routes: { create: { errors: [409, 418] } },
  bulk: true,
});

@Injectable()
class OrdersService extends CrudService.for(orders) {
  @InjectCrudService(lines.entity) readonly lines!: CrudService<Made, Made>;

  /** Each order begins with two lines; no two orders have one text. */
  override async create(scope: TenantScope, input: Made) {
    const name = String(input.text);
    for await (const { text } of this.list(scope)) {
      if (text === name) throw new ConflictException('There is such an order.');
    }
    await this.lines.create(scope, { text: `${name}, first` });
    const order = await super.create(scope, input);
    await this.lines.create(scope, { text: `${name}, second` });
    return order;
  }
}

const drafts = resource({
  name: 'drafts',
  kept: { team: Prop({ type: String }) },
  isolationFields: { all: { team: claim('team') } },
});

describe('Idempotency-Key of your own resource', () => {
  const withLines = { service: OrdersService, imports: [CrudModule.forFeature(lines)] };
  const app = useResourceApp(CrudModule.forFeature(orders, withLines), drafts);
  beforeEach(async () => {
    await app.empty();
    Object.assign(watched, { calls: [], gate: Promise.resolve(), failure: undefined });
  });

  const post = (path: string, body: unknown, key = 'k1') =>
    app.post(`/orders${path}`, body, { token: acme, headers: { 'Idempotency-Key': key } });
  const tea = (key?: string) => post('', { text: 'tea' }, key);
  const stored = (name: string) => app.database.collection(name);
  /** How many orders there are, and lines. */
  const counts = () => Promise.all(['orders', 'lines'].map((name) => stored(name).countDocuments()));
  const hookCalled = () => eventually(() => expect(watched.calls).not.toEqual([]));

  it('answers 409 while the first request is in flight, and then replays its answer', async () => {
    const open = closeGate();
    const first = tea();
    await hookCalled();
    const second = await tea();
    const answered = [second.status, second.body.code, second.headers.get('retry-after')];
    expect(answered).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE', '1']);
    expect((await post('', { text: 'coffee' })).status).toBe(422);
    open();
    expectReplay(await first.then(() => tea()), await first);
    expect(await stored('orders').countDocuments()).toBe(1);
  });

  it('keeps the conflict of a unique value, and what a feature throws', async () => {
    await post('', { text: 'tea', code: 'A' });
    const conflict = await post('', { text: 'coffee', code: 'A' }, 'k2');
    expect([conflict.status, conflict.body.code]).toEqual([409, 'DUPLICATE_VALUE']);
    await stored('orders').deleteMany({});
    expectReplay(await post('', { text: 'coffee', code: 'A' }, 'k2'), conflict);

    watched.failure = () => new ImATeapotException('Short and stout.');
    const refusal = await post('', { text: 'milk' }, 'k3');
    expect(refusal.status).toBe(418);
    watched.failure = undefined;
    expectReplay(await post('', { text: 'milk' }, 'k3'), refusal);
    expect(await stored('orders').countDocuments()).toBe(0);
  });

  it('does not keep a failure: the next request continues from there at once', async () => {
    watched.failure = () => new Error('A fault of the hook.');
    expect((await tea()).status).toBe(500);
    expect(await counts()).toEqual([0, 1]);
    watched.failure = undefined;
    const second = await tea();
    expect([second.status, isReplay(second)]).toEqual([201, false]);
    expect(await counts()).toEqual([1, 2]);
  });

  it('runs the hooks once, and creates no record twice after a crash, whatever an override creates and refuses', async () => {
    const first = await tea();
    expect(first.status).toBe(201);
    expectReplay(await tea(), first);
    expect(watched.calls).toEqual(['before tea', 'after tea']);
    expect(await counts()).toEqual([1, 2]);
    await stored('lines').deleteOne({ text: 'tea, second' });
    await forgetAnswers(app);
    const second = await tea();
    expect([repeated(second), isReplay(second)]).toEqual([repeated(first), false]);
    // Nobody can know whether the hook ran before the crash.
    expect(watched.calls).toEqual(['before tea', 'after tea', 'after tea']);
    expect(await counts()).toEqual([1, 1]);
    expectReplay(await tea(), first);
  });

  it('gives the stored answer to a process that wakes up after another has taken over', async () => {
    const open = closeGate();
    const asleep = tea();
    await hookCalled();
    await stored('idempotency_keys').updateMany({}, { $set: { leaseUntil: new Date() } });
    watched.gate = Promise.resolve();
    const taker = await tea();
    expect(taker.status).toBe(201);
    open();
    expectReplay(await asleep, taker);
    expect(await counts()).toEqual([1, 2]);
  });

  it('belongs to the scope: the same user in another team is another caller', async () => {
    const headers = { 'Idempotency-Key': 'k1' };
    const draft = async (team: string) => {
      const token = tokenOf(ACME, { sub: 'emma', team });
      const { status, body } = await app.post('/drafts', { text: 'A' }, { token, headers });
      expect(status).toBe(201);
      return body._id as string;
    };
    const [red, blue, again] = [await draft('red'), await draft('blue'), await draft('red')];
    expect(blue).not.toBe(red);
    expect(again).toBe(red);
  });

  it('carries out a bulk once: after a crash in the middle, each create finds or makes its record', async () => {
    const operations = ['one', 'two', 'three'].map((text) => ({ create: { text } }));
    const send = () => app.post('/lines/bulk', { operations }, { headers: { 'Idempotency-Key': 'b1' } });
    const first = await send();
    expect(first.body.results).toHaveLength(3);
    expectReplay(await send(), first);
    await forgetAnswers(app);
    await stored('lines').deleteOne({ text: 'two' });
    const second = await send();
    expect([second.body, isReplay(second)]).toEqual([first.body, false]);
    expect(await stored('lines').countDocuments()).toBe(3);
  });

  it('holds the key of a bulk as long as it takes, and keeps its answer', async () => {
    const open = closeGate();
    const { insertedId } = await stored('orders').insertOne({ tenant: new Types.ObjectId(ACME) });
    const operations = [{ create: { text: 'tea' } }, { del: { _id: insertedId.toHexString() } }];
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${acme}` };
    const keyed = { ...headers, 'Idempotency-Key': 'b2' };
    const body = JSON.stringify({ operations });
    // The client of the tests would wait for the end of the answer.
    const send = () => fetch(`${app.url}/orders/bulk`, { method: 'POST', headers: keyed, body });
    const first = await send();
    expect(first.status).toBe(200);
    expect((await send()).status).toBe(409);
    open();
    const results = await first.text();
    expect(JSON.parse(results)).toEqual({
      results: [{ status: 201, _id: expect.any(String) }, { status: 200 }],
    });
    const replay = await send();
    expect([await replay.text(), replay.headers.get('idempotency-replayed')]).toEqual([results, 'true']);
    expect(replay.headers.get('content-type')).toBe(first.headers.get('content-type'));
  });

  it('does not keep a bulk of which an item failed: a repetition carries it out again', async () => {
    const operations = [{ create: { text: 'tea' } }];
    const send = () => post('/bulk', { operations }, 'b2');
    watched.failure = () => new Error('A fault of the hook.');
    expect((await send()).body.results).toMatchObject([{ status: 500 }]);
    watched.failure = undefined;
    const second = await send();
    expect([second.body.results, isReplay(second)]).toMatchObject([[{ status: 201 }], false]);
    expectReplay(await send(), second);
    expect(await stored('orders').countDocuments()).toBe(1);
  });

  it('refuses the key of an import, which is a stream', async () => {
    const { status, body } = await app.request('POST', '/lines/import', {
      body: '{"text":"one"}',
      headers: { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': 'i1' },
    });
    expect([status, body.errors[0].parameter]).toEqual([400, 'Idempotency-Key']);
    expect(await stored('lines').countDocuments()).toBe(0);
  });

  it('costs two more commands with the header, besides those that many share, and none without', async () => {
    const during = async (headers?: Record<string, string>) =>
      (await commandsOf(app, () => app.post('/lines', { text: 'x' }, { headers })))
        .map(({ name }) => name)
        .filter((name) => !name.endsWith(' idempotency_bytes'));
    expect(await during()).toEqual(['insert lines']);
    const [taken, kept] = ['insert idempotency_keys', 'update idempotency_keys'];
    const keyed = { 'Idempotency-Key': 'k1' };
    expect(await during(keyed)).toEqual([taken, 'insert lines', kept]);
    expect(await during(keyed)).toEqual([taken, 'find idempotency_keys']);
  });
});
