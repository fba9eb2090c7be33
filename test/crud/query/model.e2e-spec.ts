/**
 * @mongodb
 * @slow
 */
import fc from 'fast-check';
import mongoose from 'mongoose';
import { ContractModel, type ModelRecord, type Prediction, present } from '../../support/contract-model.js';
import { type Operation, operations } from '../../support/contract-operations.js';
import { eventually } from '../../support/eventually.js';
import { tokenOf } from '../../support/tenants.js';
import { type TestResponse, useTestApp } from '../../support/test-app.js';

const EVENT_TYPES = { create: 'posts.created', update: 'posts.updated', del: 'posts.archived' } as const;
const METHODS = {
  create: 'POST',
  list: 'GET',
  count: 'GET',
  page: 'GET',
  get: 'GET',
  update: 'PATCH',
  del: 'DELETE',
};

/** The same sequences every time; a failure prints the shortest sequence that still fails. */
const PARAMETERS = {
  seed: 20_260_101,
  numRuns: 50,
};

describe.each(['generated', 'handwritten'])('random sequences of requests, todos %s', (form) => {
  const tokens = new Map<string, string>();
  const app = useTestApp({ env: { TODOS_API: form } });

  it('are answered as the model predicts, and change what it predicts and nothing else', async () => {
    const property = fc.asyncProperty(operations, async (sequence) => {
      await app.empty();
      const model = new ContractModel(form);
      for (const operation of sequence) await carryOut(operation, model);
      await expectDatabaseToAgreeWith(model);
    });
    await fc.assert(property, PARAMETERS);
  }, 600_000);

  async function carryOut(operation: Operation, model: ContractModel): Promise<void> {
    const path = model.pathOf(operation);
    const prediction = model.predict(operation);
    const begun = Date.now();
    const response = await send(operation, path);
    expect(response.status).toBe(prediction.status);
    if (prediction.writes) await learn(prediction.writes, operation, response, [begun, Date.now()]);
    expectAnswer(response, prediction);
    if (operation.resource === 'posts' && prediction.writes) {
      const type = EVENT_TYPES[operation.action as keyof typeof EVENT_TYPES];
      const { archived, deletedAt } = prediction.writes;
      const data = {
        ...present(prediction.writes),
        ...(archived && { deletedAt: deletedAt?.toISOString() }),
      };
      model.notified.push({ type, tenant: operation.caller, data });
    }
  }

  async function send(operation: Operation, path: string): Promise<TestResponse> {
    const { caller } = operation;
    return app.request(METHODS[operation.action], path, {
      ...('body' in operation && { body: JSON.stringify(operation.body.json) }),
      ...(caller !== undefined && { token: await tokenFor(caller) }),
      ...('prefersRecord' in operation &&
        operation.prefersRecord && { headers: { Prefer: 'return=representation' } }),
    });
  }

  /** Takes the id and timestamps that the service chose for the one record it wrote, where they can be right. */
  async function learn(
    record: ModelRecord,
    { action, resource }: Operation,
    response: TestResponse,
    [begun, ended]: [number, number],
  ): Promise<void> {
    if (action === 'create') record._id = (response.body as { _id: string })._id;
    const stored = await app.database
      .collection(resource)
      .findOne({ _id: new mongoose.mongo.ObjectId(record._id) });
    const during = (time: unknown) => {
      expect(time).toBeInstanceOf(Date);
      expect((time as Date).getTime()).toBeGreaterThanOrEqual(begun);
      expect((time as Date).getTime()).toBeLessThanOrEqual(ended);
      return time as Date;
    };
    record.updatedAt = during(stored?.updatedAt);
    if (action === 'create') record.createdAt = during(stored?.createdAt);
    if (action === 'del') record.deletedAt = during(stored?.deletedAt);
  }

  function expectAnswer(response: TestResponse, { body, etag }: Prediction): void {
    expect(response.body).toStrictEqual(body);
    expect(response.headers.get('etag')).toBe(etag ?? null);
  }

  async function expectDatabaseToAgreeWith(model: ContractModel): Promise<void> {
    const collections = await app.database.collections();
    const names = collections.map(({ collectionName }) => collectionName).sort();
    expect(names.join(' ')).toBe(
      'deleted_records deliveries delivery_cursors events idempotency_bytes idempotency_keys installation ' +
        'posts search_words subscriptions todos',
    );
    for (const resource of ['posts', 'todos'] as const) {
      expect(await contentOf(resource)).toStrictEqual(model.stored(resource));
    }
    // A slow listener may still be at work when the last request has been answered.
    await eventually(async () => {
      const events = (await contentOf('events')).map(({ type, tenant, body }) => {
        return { type, tenant, data: (JSON.parse(body as string) as { data: unknown }).data };
      });
      expect(sorted(events)).toEqual(sorted(model.notified));
    });
  }

  /** The documents of a collection, without what is hidden beside the record. */
  const contentOf = (name: string) =>
    app.database
      .collection(name)
      .find({}, { projection: { _words: 0, _outbox: 0 } })
      .sort({ _id: 1 })
      .toArray();

  async function tokenFor(tenant: string): Promise<string> {
    const token = tokens.get(tenant) ?? (await tokenOf(tenant));
    tokens.set(tenant, token);
    return token;
  }
});

/** Listeners may finish in another order than the requests. */
function sorted<T extends { type: unknown; data: unknown }>(events: readonly T[]): T[] {
  const keyOf = ({ type, data }: T) => {
    const { _id, updatedAt } = data as Record<string, string>;
    return `${_id} ${updatedAt} ${String(type)}`;
  };
  return events.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}
