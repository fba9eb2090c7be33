/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import {
  anyOf,
  claim,
  claims,
  currentTenant,
  hasRole,
  unlessCaller,
} from '../../src/common/tenancy/index.js';
import { feature, type Outline, resource } from '../support/resource.js';
import { createResourceApp, useResourceApp } from '../support/resource-app.js';
import { ACME, acme, GLOBEX, globex, tokenOf } from '../support/tenants.js';

const text = { text: IsText({ max: 50 }) };
const texts = (body: unknown) => (body as { text: string }[]).map((one) => one.text).sort();

describe('a record that either of two people reads', () => {
  const app = useResourceApp(
    feature({
      name: 'messages',
      fields: { ...text, recipient: IsText({ max: 20 }) },
      kept: { sender: Prop({ type: String }) },
      isolationFields: {
        get: anyOf({ sender: claim('sub') }, { recipient: claim('sub') }),
        count: anyOf({ sender: claim('sub') }, { recipient: claim('sub') }),
        create: { sender: claim('sub') },
        update: { sender: claim('sub') },
        del: { sender: claim('sub') },
      },
      query: { filter: ['text', 'recipient', 'sender'], sort: ['text'], search: ['text'] },
    }),
  );
  const [ada, bob, eve] = ['ada', 'bob', 'eve'].map((sub) => tokenOf(undefined, { sub })) as [
    string,
    string,
    string,
  ];
  let id: string;
  beforeEach(async () => {
    await app.empty();
    id = (await app.post('/messages', { text: 'to bob', recipient: 'bob' }, { token: ada })).body
      ._id as string;
    await app.post('/messages', { text: 'to ada', recipient: 'ada' }, { token: bob });
    await app.post('/messages', { text: 'to eve', recipient: 'eve' }, { token: bob });
  });

  it('is in the lists, pages, counts, searches and queries of both, and of nobody else', async () => {
    const own = new Map([
      [ada, ['to ada', 'to bob']],
      [bob, ['to ada', 'to bob', 'to eve']],
      [eve, ['to eve']],
    ]);
    for (const [token, expected] of own) {
      expect(texts((await app.get('/messages', { token })).body)).toEqual(expected);
      expect(texts((await app.get('/messages?sort=text', { token })).body)).toEqual(expected);
      expect((await app.get('/messages/count', { token })).body).toEqual({ count: expected.length });
      expect(texts((await app.get('/messages?q=to', { token })).body)).toEqual(expected);
      const where = { or: [{ sender: 'ada' }, { not: { recipient: 'nobody' } }] };
      expect(texts((await app.post('/messages/query', { where }, { token })).body)).toEqual(expected);
      const walked: string[] = [];
      let after = '';
      do {
        const { body } = await app.get(`/messages?limit=1&sort=text${after}`, { token });
        walked.push(...texts(body.results));
        after = body.next === null ? '' : `&after=${String(body.next)}`;
      } while (after !== '');
      expect(walked).toEqual(expected);
    }
    expect((await app.get('/messages')).status).toBe(401);
  });

  it('is changed by the one that writes are isolated by', async () => {
    expect((await app.get(`/messages/${id}`, { token: bob })).body.text).toBe('to bob');
    expect((await app.get(`/messages/${id}`, { token: eve })).status).toBe(404);
    expect((await app.patch(`/messages/${id}`, { text: 'x' }, { token: bob })).status).toBe(404);
    expect((await app.del(`/messages/${id}`, { token: bob })).status).toBe(404);
    expect((await app.patch(`/messages/${id}`, { text: 'x' }, { token: ada })).status).toBe(200);
  });

  it('has an index for each', () => {
    const keys = app.connection
      .model('Message')
      .schema.indexes()
      .map(([fields]) => Object.keys(fields).join());
    expect(keys).toEqual(expect.arrayContaining(['sender,createdAt,_id', 'recipient,text,_id']));
  });
});

describe('records of all tenants of a caller', () => {
  const app = useResourceApp(
    feature({
      name: 'sheets',
      fields: { ...text, tenant: IsText({ max: 24, optional: true }) },
      isolationFields: { all: { tenant: claims('tenants') } },
      bulk: true,
    }),
  );
  const of = (...tenants: unknown[]) => tokenOf(undefined, { sub: 'ada', tenants });
  const both = of(ACME, GLOBEX);
  beforeEach(() => app.empty());
  const create = (body: object, token: string) => app.post('/sheets', body, { token });

  it('are read together, and each belongs to one that its body names', async () => {
    expect((await create({ text: 'a', tenant: ACME }, both)).status).toBe(201);
    expect((await create({ text: 'g', tenant: GLOBEX }, both)).status).toBe(201);
    expect(texts((await app.get('/sheets', { token: both })).body)).toEqual(['a', 'g']);
    expect(texts((await app.get('/sheets', { token: of(GLOBEX) })).body)).toEqual(['g']);
    expect((await create({ text: 'a2' }, of(ACME))).status).toBe(201);
    expect(texts((await app.get('/sheets', { token: of(ACME) })).body)).toEqual(['a', 'a2']);
  });

  it('are rejected for another tenant, and without one where there are several', async () => {
    const foreign = { pointer: '/tenant', detail: '"tenant" must be one of yours.' };
    for (const token of [of(ACME), of(ACME, 'x')]) {
      const { status, body } = await create({ text: 'a', tenant: GLOBEX }, token);
      expect([status, body.code, body.errors]).toEqual([403, 'FORBIDDEN_FIELD', [foreign]]);
    }
    const { status, body } = await create({ text: 'a' }, both);
    expect([status, body.errors]).toMatchObject([400, [{ pointer: '/tenant' }]]);
    const bulk = await app.post(
      '/sheets/bulk',
      { operations: [{ create: { text: 'a', tenant: GLOBEX } }, { create: { text: 'a' } }] },
      { token: of(ACME) },
    );
    expect(bulk.body.results).toMatchObject([{ status: 403 }, { status: 201 }]);
  });

  it('move between the tenants of a caller only', async () => {
    const id = (await create({ text: 'a', tenant: ACME }, both)).body._id as string;
    const move = (tenant: string, token: string) => app.patch(`/sheets/${id}`, { tenant }, { token });
    expect((await move(GLOBEX, of(ACME))).status).toBe(403);
    expect((await move(GLOBEX, both)).status).toBe(200);
    expect((await move(ACME, of(ACME))).status).toBe(404);
  });

  it.each([[undefined], [[]], ['x'], [[{}]], [[[ACME]]], [['']], [{ $ne: 1 }]])(
    'are nobody’s with the claim %j',
    async (tenants) => {
      const token = tokenOf(undefined, { sub: 'ada', ...(tenants !== undefined && { tenants }) });
      expect((await app.get('/sheets', { token })).status).toBe(403);
    },
  );
});

describe('callers that isolation exempts', () => {
  const tickets = resource({
    name: 'tickets',
    fields: text,
    kept: { tenant: Prop({ type: Types.ObjectId }), deletedAt: Prop({ type: Date }) },
    isolationFields: { all: unlessCaller(hasRole('support'), { tenant: currentTenant }) },
    archive: { field: 'deletedAt' },
  });
  const app = useResourceApp(CrudModule.forFeature(tickets));
  const support = tokenOf(ACME, { sub: 'sue', roles: ['support'] });
  beforeEach(() => app.empty());

  it('reach the records of all tenants, and create their own', async () => {
    const ids: string[] = [];
    for (const token of [acme, globex])
      ids.push((await app.post('/tickets', { text: 'a' }, { token })).body._id as string);
    const [, theirs] = ids;
    expect((await app.get('/tickets', { token: acme })).body).toHaveLength(1);
    expect((await app.get('/tickets', { token: support })).body).toHaveLength(2);
    expect((await app.get('/tickets/count', { token: support })).body).toEqual({ count: 2 });
    expect((await app.patch(`/tickets/${theirs}`, { text: 'b' }, { token: acme })).status).toBe(404);
    expect((await app.patch(`/tickets/${theirs}`, { text: 'b' }, { token: support })).status).toBe(200);
    expect((await app.get(`/tickets/${theirs}`, { token: globex })).body).toMatchObject({
      text: 'b',
      tenant: GLOBEX,
    });
    expect((await app.del(`/tickets/${theirs}`, { token: support })).status).toBe(200);
    expect((await app.get('/tickets?archived=only', { token: support })).body).toHaveLength(1);
    expect((await app.get('/tickets?archived=only', { token: acme })).body).toEqual([]);
    await app.post('/tickets', { text: 's' }, { token: support });
    expect((await app.get('/tickets', { token: acme })).body).toHaveLength(2);
    expect((await app.get('/tickets')).status).toBe(401);
  });

  it('use cursors of their own', async () => {
    for (const token of [acme, acme, globex]) await app.post('/tickets', { text: 'a' }, { token });
    const { body } = await app.get('/tickets?limit=1', { token: support });
    expect((await app.get(`/tickets?limit=1&after=${body.next as string}`, { token: acme })).status).toBe(
      400,
    );
  });
});

it.each<[string, Partial<Outline>, string]>([
  [
    'writes by either',
    { isolationFields: { all: anyOf({ text: claim('sub') }, { text: claim('b') }) } },
    'isolationFields.all is anyOf',
  ],
  [
    'a field that is not there',
    { isolationFields: { get: anyOf({ nowhere: claim('sub') }, { text: claim('b') }) } },
    'names "nowhere", which the schema does not have',
  ],
  [
    'events',
    {
      kept: { tenant: Prop({ type: Types.ObjectId }) },
      events: true,
      isolationFields: {
        create: { tenant: currentTenant },
        get: anyOf({ tenant: currentTenant }, { text: claim('b') }),
      },
    },
    '"anyOf" isolates reads',
  ],
  [
    'references within a scope that nobody knows',
    {
      kept: { tenant: Prop({ type: Types.ObjectId }), above: Prop({ type: Types.ObjectId }) },
      isolationFields: { all: unlessCaller(hasRole('support'), { tenant: currentTenant }) },
      references: { above: { to: class Above {}, check: 'sameScope' } },
    },
    'references.above.check is "sameScope", but unlessCaller lets callers update records of any "tenant"',
  ],
])('stops the start for %s', async (_what, more, reason) => {
  await expect((async () => createResourceApp(feature({ name: 'things', ...more })))()).rejects.toThrow(
    reason,
  );
});
