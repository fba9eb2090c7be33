/** @mongodb */
import { ImATeapotException } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { claim } from '../../src/common/tenancy/index.js';
import { eventually } from '../support/eventually.js';
import { keyedOrders, OrdersService, watched } from '../support/keyed-orders.js';
import { feature } from '../support/resource.js';
import { useResourceApp } from '../support/resource-app.js';
import { ACME, acme, globex, tokenOf } from '../support/tenants.js';
import type { TestResponse } from '../support/test-app.js';

describe('Idempotency-Key of your own resource', () => {
  const drafts = feature({
    name: 'drafts',
    kept: { team: Prop({ type: String }) },
    isolationFields: { all: { team: claim('team') } },
  });
  const app = useResourceApp(keyedOrders, drafts);
  beforeEach(async () => {
    await app.empty();
    watched.reset();
  });

  const post = (path: string, body: unknown, key = 'k1', token = acme) =>
    app.post(`/orders${path}`, body, { token, headers: { 'Idempotency-Key': key } });
  const tea = (key?: string) => post('', { text: 'tea' }, key);
  const isReplay = ({ headers }: TestResponse) => headers.get('idempotency-replayed') === 'true';
  const told = ({ status, text }: TestResponse) => ({ status, text });
  const stored = (name: string) => app.database.collection(name);
  /** How many orders there are, and lines. */
  const counts = () => Promise.all(['orders', 'lines'].map((name) => stored(name).countDocuments()));

  /** Leaves the keys as a process does that dies before it has kept an answer, and has been dead for a while. */
  const die = () =>
    stored('idempotency_keys').updateMany({}, { $unset: { answer: 1 }, $set: { leaseUntil: new Date() } });
  const hookCalled = () => eventually(() => expect(watched.calls).not.toEqual([]));

  it('runs the hooks once', async () => {
    const first = await tea();
    const replay = await tea();
    expect([first.status, isReplay(first), isReplay(replay)]).toEqual([201, false, true]);
    expect(told(replay)).toEqual(told(first));
    expect(watched.calls).toEqual(['before tea', 'after tea']);
    expect(await counts()).toEqual([1, 2]);
  });

  it('answers 409 while the first request is in flight, and then replays its answer', async () => {
    const open = watched.closeGate();
    const first = tea();
    await hookCalled();
    const second = await tea();
    const answered = [second.status, second.body.code, second.headers.get('retry-after')];
    expect(answered).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE', '1']);
    expect((await post('', { text: 'coffee' })).status).toBe(422);
    open();
    const replay = await first.then(() => tea());
    expect(told(replay)).toEqual(told(await first));
    expect(await stored('orders').countDocuments()).toBe(1);
  });

  it('keeps the conflict of a unique value, and what a feature throws', async () => {
    await post('', { text: 'tea', code: 'A' });
    const conflict = await post('', { text: 'coffee', code: 'A' }, 'k2');
    expect([conflict.status, conflict.body.code]).toEqual([409, 'DUPLICATE_VALUE']);
    await stored('orders').deleteMany({});
    expect(told(await post('', { text: 'coffee', code: 'A' }, 'k2'))).toEqual(told(conflict));

    watched.failure = () => new ImATeapotException('Short and stout.');
    const refusal = await post('', { text: 'milk' }, 'k3');
    expect(refusal.status).toBe(418);
    watched.failure = undefined;
    expect(told(await post('', { text: 'milk' }, 'k3'))).toEqual(told(refusal));
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

  it('creates no record twice after a crash, whatever an override creates and refuses', async () => {
    const first = await tea();
    await stored('lines').deleteOne({ text: 'tea, second' });
    await die();
    const second = await tea();
    expect(told(second)).toEqual(told(first));
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(isReplay(second)).toBe(false);
    // Nobody can know whether the hook ran before the crash.
    expect(watched.calls).toEqual(['before tea', 'after tea', 'after tea']);
    expect(await counts()).toEqual([1, 1]);
    expect(told(await tea())).toEqual(told(first));
  });

  it('gives the stored answer to a process that wakes up after another has taken over', async () => {
    const open = watched.closeGate();
    const asleep = tea();
    await hookCalled();
    await stored('idempotency_keys').updateMany({}, { $set: { leaseUntil: new Date() } });
    watched.gate = Promise.resolve();
    const taker = await tea();
    expect(taker.status).toBe(201);
    open();
    expect(told(await asleep)).toEqual(told(taker));
    expect(isReplay(await asleep)).toBe(true);
    expect(await counts()).toEqual([1, 2]);
  });

  it('keeps members that are shown once out of replays and the database', async () => {
    const first = await post('/secret', { text: 'tea' });
    expect(first.body).toEqual({ _id: expect.any(String), secret: 'secret of tea' });
    const replay = await post('/secret', { text: 'tea' });
    expect([replay.status, isReplay(replay), replay.body]).toEqual([201, true, { _id: first.body._id }]);
    const kept = await stored('idempotency_keys').findOne();
    expect(String((kept?.answer as { body: unknown }).body)).not.toContain('secret');
  });

  it('also applies to your own routes, and belongs to a single path', async () => {
    const [one, other] = [await post('', { text: 'tea' }, 'a'), await post('', { text: 'milk' }, 'b')];
    const first = await post(`/${one.body._id}/mark`, undefined);
    expect([first.status, first.body.code]).toEqual([200, 'marked']);
    await app.patch(`/orders/${one.body._id}`, { code: null }, { token: acme });
    const replay = await post(`/${one.body._id}/mark`, undefined);
    expect([told(replay), isReplay(replay)]).toEqual([told(first), true]);
    expect(isReplay(await post(`/${other.body._id}/mark`, undefined))).toBe(false);
    const foreign = await post(`/${one.body._id}/mark`, undefined, 'k1', globex);
    expect([foreign.status, isReplay(foreign)]).toEqual([404, false]);
  });

  it('also belongs to the scope: the same user in another team is another caller', async () => {
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
    expect([told(await send()), isReplay(await send())]).toEqual([told(first), true]);
    await die();
    await stored('lines').deleteOne({ text: 'two' });
    const second = await send();
    expect([second.body, isReplay(second)]).toEqual([first.body, false]);
    expect(await stored('lines').countDocuments()).toBe(3);
  });

  it('holds the key of a bulk as long as it takes, and keeps its answer', async () => {
    const open = watched.closeGate();
    const order = { tenant: new Types.ObjectId(ACME) };
    const { insertedId } = await stored('orders').insertOne(order);
    const operations = [{ create: { text: 'tea' } }, { del: { _id: insertedId.toHexString() } }];
    const headers = {
      'Content-Type': 'application/json',
      'Idempotency-Key': 'b2',
      Authorization: `Bearer ${acme}`,
    };
    const request = { method: 'POST', headers, body: JSON.stringify({ operations }) };
    // The client of the tests would wait for the end of the answer.
    const send = () => fetch(`${app.url}/orders/bulk`, request);
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
    expect([told(await send()), await stored('orders').countDocuments()]).toEqual([told(second), 1]);
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
    const commands: string[] = [];
    const { connection } = app.app.get(OrdersService, { strict: false });
    connection.getClient().on('commandStarted', ({ commandName, command }) => {
      if (command[commandName] !== 'idempotency_bytes') commands.push(commandName);
    });
    const during = async (send: () => Promise<unknown>) => {
      commands.length = 0;
      await send();
      return [...commands];
    };
    const without = await during(() => app.post('/lines', { text: 'x' }));
    const headers = { 'Idempotency-Key': 'k1' };
    expect(without).toEqual(['insert']);
    const keyed = () => app.post('/lines', { text: 'x' }, { headers });
    expect(await during(keyed)).toEqual(['insert', 'insert', 'update']);
    expect(await during(keyed)).toEqual(['insert', 'find']);
  });
});
