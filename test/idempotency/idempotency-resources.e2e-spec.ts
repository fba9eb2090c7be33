/** @mongodb */
import { ImATeapotException } from '@nestjs/common';
import { Types } from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { createResourceApp } from '../support/resource-app.js';
import { ACME, acme, globex } from '../support/tenants.js';
import { type TestResponse, useApp } from '../support/test-app.js';

import { lines, watched, orders, OrdersService, OrdersController } from '../support/keyed-orders.js';
import { eventually } from '../support/eventually.js';

describe('Idempotency-Key of your own resource', () => {
  const app = useApp(() =>
    createResourceApp(
      CrudModule.forFeature(orders, {
        controller: OrdersController,
        service: OrdersService,
        imports: [CrudModule.forFeature(lines)],
      }),
    ),
  );
  beforeEach(async () => {
    await app.empty();
    watched.calls.length = 0;
    watched.gate = Promise.resolve();
    watched.failure = undefined;
  });

  const post = (path: string, body: unknown, key = 'k1', bearer = acme) =>
    app.post(`/orders${path}`, body, { token: bearer, headers: { 'Idempotency-Key': key } });
  const isReplay = ({ headers }: TestResponse) => headers.get('idempotency-replayed') === 'true';
  const told = ({ status, text }: TestResponse) => ({ status, text });
  const count = (name: string) => app.database.collection(name).countDocuments();

  /** Leaves the keys as a process does that dies before it has kept an answer, and has been dead for a while. */
  const die = () =>
    app.database
      .collection('idempotency_keys')
      .updateMany({}, { $unset: { answer: 1 }, $set: { leaseUntil: new Date() } });

  /** Lets the hooks wait until what it gives back is called. */
  const closeGate = () => {
    let open = (): void => undefined;
    watched.gate = new Promise((resolve) => (open = resolve));
    return () => open();
  };
  const hookCalled = () => eventually(() => expect(watched.calls).not.toEqual([]));

  it('runs the hooks once', async () => {
    const first = await post('', { text: 'tea' });
    const replay = await post('', { text: 'tea' });
    expect([first.status, isReplay(first), isReplay(replay)]).toEqual([201, false, true]);
    expect(told(replay)).toEqual(told(first));
    expect(watched.calls).toEqual(['before tea', 'after tea']);
    expect([await count('orders'), await count('lines')]).toEqual([1, 2]);
  });

  it('answers 409 while the first request is in flight, and then replays its answer', async () => {
    const open = closeGate();
    const first = post('', { text: 'tea' });
    await hookCalled();
    const second = await post('', { text: 'tea' });
    const answered = [second.status, second.body.code, second.headers.get('retry-after')];
    expect(answered).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE', '1']);
    expect((await post('', { text: 'coffee' })).status).toBe(422);
    open();
    const replay = await first.then(() => post('', { text: 'tea' }));
    expect(told(replay)).toEqual(told(await first));
    expect(await count('orders')).toBe(1);
  });

  it('keeps the conflict of a unique value, and what a feature throws', async () => {
    await post('', { text: 'tea', code: 'A' });
    const conflict = await post('', { text: 'coffee', code: 'A' }, 'k2');
    expect([conflict.status, conflict.body.code]).toEqual([409, 'DUPLICATE_VALUE']);
    await app.database.collection('orders').deleteMany({});
    expect(told(await post('', { text: 'coffee', code: 'A' }, 'k2'))).toEqual(told(conflict));

    watched.failure = () => new ImATeapotException('Short and stout.');
    const refusal = await post('', { text: 'milk' }, 'k3');
    expect(refusal.status).toBe(418);
    watched.failure = undefined;
    expect(told(await post('', { text: 'milk' }, 'k3'))).toEqual(told(refusal));
    expect(await count('orders')).toBe(0);
  });

  it('does not keep a failure: the next request continues from there at once', async () => {
    watched.failure = () => new Error('A fault of the hook.');
    expect((await post('', { text: 'tea' })).status).toBe(500);
    expect([await count('orders'), await count('lines')]).toEqual([0, 1]);
    watched.failure = undefined;
    const second = await post('', { text: 'tea' });
    expect([second.status, isReplay(second)]).toEqual([201, false]);
    expect([await count('orders'), await count('lines')]).toEqual([1, 2]);
  });

  it('creates no record twice after a crash, whatever an override creates and refuses', async () => {
    const first = await post('', { text: 'tea' });
    await app.database.collection('lines').deleteOne({ text: 'tea, second' });
    await die();
    const second = await post('', { text: 'tea' });
    expect(told(second)).toEqual(told(first));
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(isReplay(second)).toBe(false);
    // Nobody can know whether the hook ran before the crash.
    expect(watched.calls).toEqual(['before tea', 'after tea', 'after tea']);
    expect([await count('orders'), await count('lines')]).toEqual([1, 1]);
    expect(told(await post('', { text: 'tea' }))).toEqual(told(first));
  });

  it('gives the stored answer to a process that wakes up after another has taken over', async () => {
    const open = closeGate();
    const asleep = post('', { text: 'tea' });
    await hookCalled();
    await app.database.collection('idempotency_keys').updateMany({}, { $set: { leaseUntil: new Date() } });
    watched.gate = Promise.resolve();
    const taker = await post('', { text: 'tea' });
    expect(taker.status).toBe(201);
    open();
    expect(told(await asleep)).toEqual(told(taker));
    expect(isReplay(await asleep)).toBe(true);
    expect([await count('orders'), await count('lines')]).toEqual([1, 2]);
  });

  it('keeps members that are shown once out of replays and the database', async () => {
    const first = await post('/secret', { text: 'tea' });
    expect(first.body).toEqual({ _id: expect.any(String), secret: 'secret of tea' });
    const replay = await post('/secret', { text: 'tea' });
    expect([replay.status, isReplay(replay), replay.body]).toEqual([201, true, { _id: first.body._id }]);
    const kept = await app.database.collection('idempotency_keys').findOne();
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

  it('carries out a bulk once: after a crash in the middle, each create finds or makes its record', async () => {
    const operations = ['one', 'two', 'three'].map((text) => ({ create: { text } }));
    const send = () => app.post('/lines/bulk', { operations }, { headers: { 'Idempotency-Key': 'b1' } });
    const first = await send();
    expect(first.body.results).toHaveLength(3);
    expect([told(await send()), isReplay(await send())]).toEqual([told(first), true]);
    await die();
    await app.database.collection('lines').deleteOne({ text: 'two' });
    const second = await send();
    expect([second.body, isReplay(second)]).toEqual([first.body, false]);
    expect(await count('lines')).toBe(3);
  });

  it('holds the key of a bulk as long as it takes, and keeps its answer', async () => {
    const open = closeGate();
    const order = { tenant: new Types.ObjectId(ACME) };
    const { insertedId } = await app.database.collection('orders').insertOne(order);
    const operations = [{ create: { text: 'tea' } }, { del: { _id: insertedId.toHexString() } }];
    const headers = {
      'Content-Type': 'application/json',
      'Idempotency-Key': 'b2',
      Authorization: `Bearer ${acme}`,
    };
    const body = JSON.stringify({ operations });
    const send = () => fetch(`${app.url}/orders/bulk`, { method: 'POST', headers, body });
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
    expect([told(await send()), await count('orders')]).toEqual([told(second), 1]);
  });

  it('refuses the key of an import, which is a stream', async () => {
    const { status, body } = await app.request('POST', '/lines/import', {
      body: '{"text":"one"}',
      headers: { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': 'i1' },
    });
    expect([status, body.errors[0].parameter]).toEqual([400, 'Idempotency-Key']);
    expect(await count('lines')).toBe(0);
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
