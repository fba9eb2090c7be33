/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule, type Outbox, Outboxes } from '../../../src/common/crud/index.js';
import { IsReference, IsText } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';

class OrderInput {
  @IsText({ min: 1, max: 100 })
  title!: string;
}

@Schema({ timestamps: true })
class Order extends OrderInput {
  @Prop({ type: Types.ObjectId, select: false })
  tenant!: Types.ObjectId;
}

class LineInput {
  @IsReference(() => Order)
  order!: string;
}

@Schema({ timestamps: true })
class Line extends LineInput {
  @Prop({ type: Types.ObjectId })
  tenant!: Types.ObjectId;
}

const LATER = new Date('2100-01-01');
const ALL = { all: { tenant: currentTenant } };

describe('the event of a deletion', () => {
  const token = tokenOf(ACME);
  const app = useResourceApp(
    CrudModule.forFeature({
      entity: Order,
      input: OrderInput,
      name: 'orders',
      isolationFields: ALL,
      events: true,
    }),
    CrudModule.forFeature({
      entity: Line,
      input: LineInput,
      name: 'lines',
      isolationFields: ALL,
      references: { order: { to: Order, onDelete: 'cascade' } },
      events: { data: 'id' },
    }),
  );
  beforeEach(() => app.empty());

  const outboxOf = (name = 'orders') => app.app.get(Outboxes, { strict: false }).of(name) as Outbox;
  const pending = async (name?: string) =>
    JSON.parse(JSON.stringify(await outboxOf(name).pending(LATER, 1_000))) as Record<string, unknown>[];
  const create = async (title = 'Tea'): Promise<string> =>
    (await app.post('/orders', { title }, { token })).body._id as string;
  const announced = () => app.database.collection('deleted_records');
  const settleAll = async (name?: string) => {
    const outbox = outboxOf(name);
    await outbox.settle(await outbox.pending(LATER, 1_000));
  };

  it('is found however many deletions were announced and not carried out', async () => {
    const living = await Promise.all(Array.from({ length: 7 }, () => create()));
    const gone = new Types.ObjectId();
    const announcement = (id: Types.ObjectId, minutes: number) => ({
      _id: `orders/${id.toHexString()}` as never,
      ...{ resource: 'orders', id, revision: 0, at: new Date(Date.now() - minutes * 60_000) },
      record: { _id: id, tenant: new Types.ObjectId(ACME) },
      _outbox: [
        { _id: `evt_${id.toHexString()}`, action: 'del', at: new Date(0), changed: [], tenant: ACME },
      ],
    });
    for (const minutes of [1, 3, 5]) {
      await announced().deleteMany({});
      const others = living.map((id, i) => announcement(new Types.ObjectId(id), i));
      await announced().insertMany([...others, announcement(gone, minutes)]);
      const found = await outboxOf().pending(LATER, 2);
      expect(found.map(({ id, action }) => [id, action])).toContainEqual([
        `evt_${gone.toHexString()}`,
        'del',
      ]);
    }
  });

  it('waits for one of a later revision that was announced in between, and keeps the record meanwhile', async () => {
    const id = await create();
    const later = { _id: `orders/${id}` as never, resource: 'orders', revision: 99, at: new Date() };
    await announced().insertOne(later);
    const { status, body } = await app.del(`/orders/${id}`, { token });
    expect([status, body.code]).toEqual([409, 'WRITE_CONFLICT']);
    expect((await app.get(`/orders/${id}`, { token })).status).toBe(200);
  });

  it('has the record as it was, after the events that the record had pending', async () => {
    const id = await create();
    await app.patch(`/orders/${id}`, { title: 'Coffee' }, { token });
    const { body } = await app.get(`/orders/${id}`, { token });
    expect((await app.del(`/orders/${id}`, { token })).status).toBe(200);
    const events = await pending();
    expect(events.map(({ action, owner, record }) => [action, owner, record])).toEqual([
      ['create', ACME, body],
      ['update', ACME, body],
      ['del', ACME, body],
    ]);
    await settleAll();
    expect(await pending()).toEqual([]);
    expect(await announced().countDocuments({})).toBe(0);
  });

  it('is settled one by one, whatever was settled before the deletion', async () => {
    const id = await create();
    await settleAll();
    await app.patch(`/orders/${id}`, { title: 'Coffee' }, { token });
    const [update] = await outboxOf().pending(LATER, 10);
    await app.del(`/orders/${id}`, { token });
    await outboxOf().settle([update as never]);
    expect((await pending()).map(({ action }) => action)).toEqual(['del']);
    await settleAll();
    expect(await announced().countDocuments({})).toBe(0);
  });

  it('is not told while the record is there, and is forgotten after ten minutes', async () => {
    const id = await create();
    await settleAll();
    const stored = await app.database.collection('orders').findOne({});
    await app.del(`/orders/${id}`, { token });
    await app.database.collection('orders').insertOne(stored as never);
    expect(await pending()).toEqual([]);
    expect(await announced().countDocuments({})).toBe(1);
    await announced().updateOne({}, { $set: { at: new Date(Date.now() - 11 * 60_000) } });
    expect(await pending()).toEqual([]);
    expect(await announced().countDocuments({})).toBe(0);
    await app.del(`/orders/${id}`, { token });
    expect(await pending()).toMatchObject([{ action: 'del', record: { _id: id } }]);
  });

  it('is one event, however many delete a record and change it at the same time', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, (_, i) => create(`Tea ${i}`)));
    await settleAll();
    const last = new Map<unknown, unknown>();
    await Promise.all(
      ids.flatMap((id) => [
        ...[1, 2, 3].map(() => app.del(`/orders/${id}`, { token })),
        ...[1, 2].map(async (n) => {
          const headers = { Prefer: 'return=representation' };
          const { status, body } = await app.patch(`/orders/${id}`, { title: `v${n}` }, { token, headers });
          if (status === 200) last.set(id, body.title);
        }),
      ]),
    );
    const events = await pending();
    const deleted = events.filter(({ action }) => action === 'del');
    expect(deleted.map(({ record }) => (record as { _id: string })._id).sort()).toEqual([...ids].sort());
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    for (const { record } of deleted) {
      const { _id, title } = record as { _id: string; title: string };
      if (!last.has(_id)) expect(title).toMatch(/^Tea/);
    }
    expect(await app.database.collection('orders').countDocuments({})).toBe(0);
  });

  it('is not there for a deletion that is refused', async () => {
    const id = await create();
    await settleAll();
    const stale = await app.del(`/orders/${id}`, { token, headers: { 'If-Match': '"9"' } });
    const foreign = await app.del(`/orders/${id}`, { token: await tokenOf('665f1c2ab7e3a90d4c8b0009') });
    expect([stale.status, foreign.status]).toEqual([412, 404]);
    expect(await pending()).toEqual([]);
    expect(await announced().countDocuments({})).toBe(0);
  });

  it('is told of each record that is deleted with another', async () => {
    const order = await create();
    for (let i = 0; i < 2; i++) await app.post('/lines', { order }, { token });
    await settleAll('lines');
    await app.del(`/orders/${order}`, { token });
    expect(await pending('lines')).toMatchObject([{ action: 'del' }, { action: 'del' }]);
    expect((await pending()).map(({ action }) => action)).toEqual(['create', 'del']);
  });
});
