/** @mongodb */
import { Types } from 'mongoose';
import { IsReference, type Outbox, Outboxes } from '../../../src/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme as token, tokenOf } from '../../support/tenants.js';

const orders = resource({ name: 'orders', ...OF_TENANT, events: true });

const lines = resource({
  name: 'lines',
  fields: { order: IsReference(() => orders.entity) },
  ...OF_TENANT,
  references: { order: { to: orders.entity, onDelete: 'cascade' } },
  events: { data: 'id' },
});

const LATER = new Date('2100-01-01');
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

describe('the event of a deletion', () => {
  const app = useResourceApp(orders, lines);
  beforeEach(() => app.empty());

  const outboxOf = (name = 'orders') => app.app.get(Outboxes, { strict: false }).of(name) as Outbox;
  const pending = async (name?: string) =>
    JSON.parse(JSON.stringify(await outboxOf(name).pending(LATER, 1_000))) as Record<string, unknown>[];
  const actions = async (name?: string) => (await pending(name)).map(({ action }) => action);
  const create = (text = 'Tea') => app.create('/orders', { text }, token);
  const change = (id: string, text: string) =>
    app.patch(`/orders/${id}`, { text }, { token, headers: { Prefer: 'return=representation' } });
  const remove = (id: string) => app.del(`/orders/${id}`, { token });
  const stored = () => app.database.collection('orders');
  const announced = () => app.database.collection('deleted_records');
  const settleAll = async (name?: string) =>
    outboxOf(name).settle(await outboxOf(name).pending(LATER, 1_000));
  const expectNothing = async () => {
    expect(await pending()).toEqual([]);
    expect(await announced().countDocuments({})).toBe(0);
  };

  it('is found however many deletions were announced and not carried out', async () => {
    const living = await Promise.all(Array.from({ length: 7 }, () => create()));
    const gone = new Types.ObjectId();
    const announcement = (id: Types.ObjectId, minutes: number) => ({
      _id: `orders/${id.toHexString()}` as never,
      ...{ resource: 'orders', id, revision: 0, at: minutesAgo(minutes) },
      _outbox: [
        { _id: `evt_${id.toHexString()}`, action: 'del', at: new Date(0), changed: [], tenant: ACME },
      ],
      record: { _id: id, tenant: new Types.ObjectId(ACME) },
    });
    for (const minutes of [1, 3, 5]) {
      await announced().deleteMany({});
      const others = living.map((id, i) => announcement(new Types.ObjectId(id), i));
      await announced().insertMany([...others, announcement(gone, minutes)]);
      const found = await outboxOf().pending(LATER, 2);
      const expected = [`evt_${gone.toHexString()}`, 'del'];
      expect(found.map(({ id, action }) => [id, action])).toContainEqual(expected);
    }
  });

  it('waits for one of a later revision that was announced in between, and keeps the record meanwhile', async () => {
    const id = await create();
    const later = { _id: `orders/${id}` as never, resource: 'orders', revision: 99, at: new Date() };
    await announced().insertOne(later);
    const { status, body } = await remove(id);
    expect([status, body.code]).toEqual([409, 'WRITE_CONFLICT']);
    expect((await app.get(`/orders/${id}`, { token })).status).toBe(200);
  });

  it('has the record as it was, after the events that the record had pending', async () => {
    const id = await create();
    const { body } = await change(id, 'Coffee');
    expect((await remove(id)).status).toBe(200);
    const events = await pending();
    expect(events.map(({ action, owner, record, changed }) => [action, owner, record, changed])).toEqual([
      ['create', ACME, body, ['text', 'tenant']],
      ['update', ACME, body, ['text']],
      ['del', ACME, body, []],
    ]);
    await settleAll();
    await expectNothing();
  });

  it('is settled one by one, whatever was settled before the deletion', async () => {
    const id = await create();
    await settleAll();
    await change(id, 'Coffee');
    const [update] = await outboxOf().pending(LATER, 10);
    await remove(id);
    await outboxOf().settle([update as never]);
    expect(await actions()).toEqual(['del']);
    await settleAll();
    await expectNothing();
  });

  it('is not told while the record is there, and is forgotten after ten minutes', async () => {
    const id = await create();
    await settleAll();
    const record = await stored().findOne({});
    await remove(id);
    const [told] = await pending();
    expect(told?.id).toMatch(/^evt_[0-9a-f]{24}$/);
    await stored().insertOne(record as never);
    expect(await pending()).toEqual([]);
    expect(await announced().countDocuments({})).toBe(1);
    await announced().updateOne({}, { $set: { at: minutesAgo(11) } });
    await expectNothing();
    await remove(id);
    expect(await pending()).toMatchObject([{ id: told?.id, action: 'del', record: { _id: id } }]);
  });

  it('is one event, however many delete a record and change it at the same time', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, (_, i) => create(`Tea ${i}`)));
    await settleAll();
    const changed = new Set<string>();
    await Promise.all(
      ids.flatMap((id) => [
        ...[1, 2, 3].map(() => remove(id)),
        ...[1, 2].map(async (n) => {
          if ((await change(id, `v${n}`)).status === 200) changed.add(id);
        }),
      ]),
    );
    const events = await pending();
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    const deleted = events.flatMap(({ action, record }) =>
      action === 'del' ? [record as Record<'_id' | 'text', string>] : [],
    );
    expect(deleted.map(({ _id }) => _id).sort()).toEqual(ids.toSorted());
    for (const { _id, text } of deleted) if (!changed.has(_id)) expect(text).toMatch(/^Tea/);
    expect(await stored().countDocuments({})).toBe(0);
  });

  it('is not there for a deletion that is refused', async () => {
    const id = await create();
    await settleAll();
    const stale = await app.del(`/orders/${id}`, { token, headers: { 'If-Match': '"9"' } });
    const foreign = await app.del(`/orders/${id}`, { token: tokenOf('665f1c2ab7e3a90d4c8b0009') });
    expect([stale.status, foreign.status]).toEqual([412, 404]);
    await expectNothing();
  });

  it('is told of each record that is deleted with another', async () => {
    const order = await create();
    for (let i = 0; i < 2; i++) await app.create('/lines', { order }, token);
    await settleAll('lines');
    await remove(order);
    expect(await actions('lines')).toEqual(['del', 'del']);
    expect(await actions()).toEqual(['create', 'del']);
  });
});
