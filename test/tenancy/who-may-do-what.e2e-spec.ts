import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { IsText } from '../../src/common/fields/index.js';
import {
  anyOf,
  claim,
  claims,
  currentTenant,
  hasRole,
  type IsolationFields,
  unlessCaller,
} from '../../src/common/tenancy/index.js';
import { each } from '../support/records.js';
import { requestsOf } from '../support/requests-of.js';
import { feature, type Outline } from '../support/resource.js';
import { createResourceApp, useResourceApp } from '../support/resource-app.js';
import { ACME, acme, GLOBEX, globex, tokenOf } from '../support/tenants.js';
import { walkForward } from '../support/walks.js';

const text = { text: IsText({ max: 50 }) };
const tenant = Prop({ type: Types.ObjectId });
const ofTenant = { tenant: currentTenant };
const sender = { sender: claim('sub') };
const either = anyOf(sender, { recipient: claim('sub') });
const ofTenants = { tenant: claims('tenants') };
const owned = { fields: text, kept: { tenant } };
/** Does not decide at once. */
const promised = (() => Promise.resolve(false)) as never;

const app = useResourceApp(
  feature({
    name: 'messages',
    fields: { ...text, recipient: IsText({ max: 20 }) },
    kept: { sender: Prop({ type: String }) },
    isolationFields: { get: either, create: sender, update: sender, del: sender },
    query: { filter: ['text', 'recipient', 'sender'], sort: ['text'], search: ['text'] },
  }),
  feature({
    name: 'sheets',
    fields: { ...text, tenant: IsText({ max: 24, optional: true }) },
    isolationFields: { all: ofTenants },
    query: { sort: ['text'] },
    bulk: true,
  }),
  feature({
    name: 'tickets',
    fields: text,
    kept: { tenant, deletedAt: Prop({ type: Date }) },
    isolationFields: { all: unlessCaller(hasRole('support'), ofTenant) },
    archive: { field: 'deletedAt' },
  }),
  feature({
    name: 'slips',
    fields: { ...text, tenant: IsText({ max: 24, optional: true }) },
    isolationFields: { all: unlessCaller(hasRole('support'), ofTenants) },
  }),
  feature({ name: 'pages', ...owned, isolationFields: { all: ofTenants } }),
  feature({ name: 'leaks', ...owned, isolationFields: { all: unlessCaller(promised, ofTenant) } }),
  feature({
    name: 'wages',
    fields: { ...text, pay: IsText({ max: 9, optional: true }) },
    kept: { tenant },
    isolationFields: { all: ofTenant },
    rules: { pay: { read: promised } },
  }),
);
beforeEach(() => app.empty());
const caller = (claimed: object, of?: string) => requestsOf(app, tokenOf(of, { ...claimed }));

describe('a record that either of two people reads', () => {
  const [ada, bob, eve] = [caller({ sub: 'ada' }), caller({ sub: 'bob' }), caller({ sub: 'eve' })];
  let one: string;
  beforeEach(async () => {
    one = `/messages/${await ada.create('/messages', { text: 'to bob', recipient: 'bob' })}`;
    for (const recipient of ['ada', 'eve'])
      await bob.create('/messages', { text: `to ${recipient}`, recipient });
  });

  it.each([
    ['the sender of one', 'ada', ['to ada', 'to bob']],
    ['the recipient of one', 'bob', ['to ada', 'to bob', 'to eve']],
    ['another recipient', 'eve', ['to eve']],
  ] as const)('is in lists, pages, counts, searches and queries of %s', async (_who, sub, expected) => {
    const reader = caller({ sub });
    expect((await reader.texts('/messages')).sort()).toEqual(expected);
    expect(await reader.texts('/messages?sort=text')).toEqual(expected);
    expect((await reader.texts('/messages?q=to')).sort()).toEqual(expected);
    expect(await reader.get('/messages/count')).toEqual({ count: expected.length });
    const where = { or: [{ sender: 'ada' }, { not: { recipient: 'nobody' } }] };
    const { body } = await reader.send('POST', '/messages/query', { where, sort: ['text'] });
    expect(each(body, 'text')).toEqual(expected);
    const request = { token: tokenOf(undefined, { sub }) };
    const list = { app, path: '/messages', query: { sort: 'text' }, request };
    const walked = await walkForward({ ...list, limit: () => 1 });
    expect(walked.ids).toEqual(each(await reader.get('/messages?sort=text'), '_id'));
  });

  it('is read by the two, and changed by the one that writes are isolated by', async () => {
    expect(await bob.get(one)).toMatchObject({ text: 'to bob' });
    expect([await eve.status('GET', one), await requestsOf(app).status('GET', one)]).toEqual([404, 401]);
    expect(await requestsOf(app).status('GET', '/messages')).toBe(401);
    expect(await bob.status('PATCH', one, { text: 'x' })).toBe(404);
    expect(await bob.status('DELETE', one)).toBe(404);
    const { status, headers } = await ada.send('PATCH', one, { text: 'x' });
    expect([status, headers.get('etag')]).toEqual([200, '"1"']);
  });

  it('has an index for each', () => {
    const indexes = app.connection.model('Message').schema.indexes();
    const keys = indexes.map(([fields]) => Object.keys(fields).join());
    expect(keys).toEqual(expect.arrayContaining(['sender,createdAt,_id', 'recipient,text,_id']));
  });
});

describe('records of all tenants of a caller', () => {
  const of = (...tenants: unknown[]) => caller({ sub: 'ada', tenants });
  const both = of(ACME, GLOBEX);

  it('are read together, and each belongs to one that its body names, and moves between them only', async () => {
    const path = `/sheets/${await both.create('/sheets', { text: 'a', tenant: ACME })}`;
    await both.create('/sheets', { text: 'g', tenant: GLOBEX });
    await of(ACME).create('/sheets', { text: 'a2' });
    const read = [both, of(GLOBEX), of(ACME)].map((reader) => reader.texts('/sheets?sort=text'));
    expect(await Promise.all(read)).toEqual([['a', 'a2', 'g'], ['g'], ['a', 'a2']]);
    expect(await of(ACME).status('PATCH', path, { tenant: GLOBEX })).toBe(403);
    expect(await both.status('PATCH', path, { tenant: GLOBEX })).toBe(200);
    expect(await of(ACME).status('PATCH', path, { tenant: ACME })).toBe(404);
  });

  it('are rejected for a tenant of others, alone and in bulk, and without one where there are several', async () => {
    const foreign = { pointer: '/tenant', detail: '"tenant" must be one of yours.' };
    for (const caller of [of(ACME), of(ACME, 'x')]) {
      const { status, body } = await caller.send('POST', '/sheets', { text: 'a', tenant: GLOBEX });
      expect([status, body.code, body.errors]).toEqual([403, 'FORBIDDEN_FIELD', [foreign]]);
    }
    for (const [path, detail] of [
      ['/sheets', 'Name one of them.'],
      ['/pages', 'Send one with the value that the record is to have.'],
    ] as const) {
      const { status, body } = await both.send('POST', path, { text: 'a' });
      const fault = { pointer: '/tenant', detail: expect.stringContaining(detail) as string };
      expect([status, body.errors]).toEqual([400, [fault]]);
    }
    const operations = [{ create: { text: 'a', tenant: GLOBEX } }, { create: { text: 'a' } }];
    const bulk = await of(ACME).send('POST', '/sheets/bulk', { operations });
    expect(bulk.body.results).toMatchObject([{ status: 403 }, { status: 201 }]);
  });

  it.each([[undefined], [[]], ['x'], [[{}]], [[[ACME]]], [['']], [{ $ne: 1 }]])(
    'are nobody’s with the claim %j',
    async (tenants) => {
      expect(await caller({ sub: 'ada', tenants }).status('GET', '/sheets')).toBe(403);
    },
  );
});

describe('callers that isolation exempts', () => {
  const [ofAcme, ofGlobex] = [requestsOf(app, acme), requestsOf(app, globex)];
  const support = caller({ sub: 'sue', roles: ['support'] }, ACME);

  it('reach the records of all tenants, and create their own', async () => {
    await ofAcme.create('/tickets', { text: 'a' });
    const theirs = `/tickets/${await ofGlobex.create('/tickets', { text: 'a' })}`;
    const sizes = (path: string) =>
      Promise.all([ofAcme, support].map(async (each) => (await each.texts(path)).length));
    expect(await sizes('/tickets')).toEqual([1, 2]);
    expect(await support.get('/tickets/count')).toEqual({ count: 2 });
    expect(await ofAcme.status('PATCH', theirs, { text: 'b' })).toBe(404);
    expect(await support.status('PATCH', theirs, { text: 'b' })).toBe(200);
    expect(await ofGlobex.get(theirs)).toMatchObject({ text: 'b', tenant: GLOBEX });
    expect(await support.status('DELETE', theirs)).toBe(200);
    expect(await sizes('/tickets?archived=only')).toEqual([0, 1]);
    await support.create('/tickets', { text: 's' });
    expect(await ofAcme.texts('/tickets')).toHaveLength(2);
    expect(await requestsOf(app).status('GET', '/tickets')).toBe(401);
  });

  it('move a record between tenants, and not out of all of them', async () => {
    const sue = caller({ role: 'support', tenants: [ACME] }, ACME);
    const path = `/slips/${await sue.create('/slips', { text: 'a' })}`;
    expect(await sue.status('PATCH', path, { tenant: null })).toBe(400);
    expect(await sue.status('PATCH', path, { tenant: GLOBEX })).toBe(200);
    expect(await sue.get(path)).toMatchObject({ tenant: GLOBEX });
  });

  it('are nobody if the predicate does not decide at once, and so are readers of a field', async () => {
    await ofAcme.create('/leaks', { text: 'a' });
    for (const path of ['/leaks', '/wages']) expect(await ofGlobex.status('GET', path)).toBe(500);
  });

  it('use cursors of their own', async () => {
    for (const one of [ofAcme, ofAcme, ofGlobex]) await one.create('/tickets', { text: 'a' });
    const { next } = (await support.get('/tickets?limit=1')) as { next: string };
    expect(await ofAcme.status('GET', `/tickets?limit=1&after=${next}`)).toBe(400);
  });
});

const named = (fields: IsolationFields) => anyOf(fields, { text: claim('b') });

it.each([[[]], [[sender, {}]]])('anyOf rejects %j, which isolates nothing', (sets) => {
  expect(() => anyOf(...sets)).toThrow('anyOf needs sets of fields');
});

const readByEither = { create: ofTenant, get: named(ofTenant) };
const refers = {
  kept: { tenant, above: tenant },
  references: { above: { to: class Above {}, check: 'sameScope' } },
} as const;
const severalScopes =
  'references.above.check is "sameScope", but a caller may update records of several "tenant"';

it.each<[string, Outline['isolationFields'], Partial<Outline>, string]>([
  [
    'writes by either',
    { all: named({ text: claim('sub') }) },
    {},
    'isolationFields.all must be an object of fields and sources, such as { tenant: currentTenant }; anyOf is for get and count',
  ],
  [
    'a field that is not there',
    { get: named({ nowhere: claim('sub') }) },
    {},
    'names "nowhere", which is no single value of the record itself',
  ],
  ['events', readByEither, { kept: { tenant }, events: true }, '"anyOf" isolates reads'],
  ['references in a scope of some', { all: unlessCaller(hasRole('a'), ofTenant) }, refers, severalScopes],
  ['references in several scopes', { all: ofTenants }, refers, severalScopes],
])('stops the start for %s', async (_what, isolationFields, more, reason) => {
  const start = async () => createResourceApp(feature({ name: 'things', isolationFields, ...more }));
  await expect(start()).rejects.toThrow(reason);
});
