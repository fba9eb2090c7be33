/** @mongodb */
import { Body, Post } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Schema, Types } from 'mongoose';
import { CrudAction, CrudController, CrudModule } from '../../src/common/crud/index.js';
import { IsNumber, IsReference, IsText } from '../../src/common/fields/index.js';
import { CurrentScope, currentTenant, hasRole, type TenantScope } from '../../src/common/tenancy/index.js';
import { requestsOf } from '../support/requests-of.js';
import { feature, type Made, type Outline, resource } from '../support/resource.js';
import { createResourceApp, useResourceApp } from '../support/resource-app.js';
import { sendTo } from '../support/send-to.js';
import { ACME, tokenOf } from '../support/tenants.js';

const optional = { optional: true };
const tenant = Prop({ type: String });
const isolationFields = { all: { tenant: currentTenant } };
const outline: Outline = {
  name: 'people',
  class: 'Person',
  fields: {
    name: IsText({ max: 50 }),
    salary: IsNumber({ min: 0, max: 1_000_000, ...optional }),
    note: IsText({ max: 50, ...optional }),
  },
  kept: { tenant, closedAt: Prop({ type: Date }) },
  isolationFields,
  rules: { salary: { read: hasRole('hr'), write: hasRole('hr') }, note: { write: hasRole('chief') } },
  query: { filter: ['name', 'salary'], sort: ['name', 'salary', ['name', 'salary']] },
  bulk: true,
  import: true,
};
const people = resource(outline);

class PeopleController extends CrudController(people) {
  @Post('own')
  own(@CurrentScope() scope: TenantScope, @Body() body: object) {
    return this.service.create(scope, body as Made);
  }

  @CrudAction(people, { method: 'POST', path: 'eve', isolatedAs: 'create' })
  eve(@CurrentScope() scope: TenantScope) {
    return this.service.create(scope, { name: 'Eve', salary: 7 } as never);
  }
}

const desks = resource({
  name: 'desks',
  fields: { person: IsReference(() => people.entity) },
  kept: { tenant },
  isolationFields,
  references: { person: { to: people.entity } },
});

describe('a field that only some callers read', () => {
  const app = useResourceApp(
    CrudModule.forFeature(people, { controller: PeopleController }),
    CrudModule.forFeature(desks),
  );
  const hr = requestsOf(app, tokenOf(ACME, { sub: 'hanna', roles: ['hr', 'chief'] }));
  const other = requestsOf(app, tokenOf(ACME, { sub: 'otto', role: 'clerk' }));
  const id = '665f1c2ab7e3a90d4c8b7001';
  const ada = `/people/${id}`;

  beforeEach(async () => {
    await app.empty();
    const at = new Date(0);
    const record = { tenant: ACME, createdAt: at, updatedAt: at, __v: 0 };
    const person = new Types.ObjectId(id);
    await app.database.collection('people').insertMany([
      { ...record, _id: person, name: 'Ada', salary: 100 },
      { ...record, name: 'Bob', salary: 10 },
    ]);
    await app.database.collection('desks').insertOne({ ...record, person });
  });

  it('is there for those who may read it, in every place', async () => {
    expect(await hr.get(ada)).toMatchObject({ salary: 100 });
    expect(await hr.get('/people?salary[gte]=50')).toMatchObject([{ name: 'Ada' }]);
    const sorted = await hr.get('/people?sort=salary&fields=salary');
    expect(sorted).toMatchObject([{ salary: 10 }, { salary: 100 }]);
    expect(await hr.get('/desks?expand=person')).toMatchObject([{ person: { salary: 100 } }]);
  });

  it.each([
    ...['/people', '/people?limit=2', ada, '/desks?expand=person'].map((path) => [path, 'application/json']),
    ['/people', 'text/csv'],
  ] as [string, string][])('is in no answer to others: %s as %s', async (path, Accept) => {
    const told = async ({ send }: typeof hr) => (await send('GET', path, undefined, { Accept })).text;
    expect(await told(hr)).toContain('salary');
    expect(await told(other)).toContain('Ada');
    expect(await told(other)).not.toContain('salary');
  });

  it('is no parameter for others, as if there were none', async () => {
    for (const query of ['salary[gte]=50', 'sort=-salary&limit=1', 'sort=name,salary', 'fields=salary'])
      expect([query, await other.status('GET', `/people?${query}`)]).toEqual([query, 400]);
    expect(await other.status('GET', '/people/count?salary[exists]=true')).toBe(400);
    for (const query of [{ where: { not: { salary: null } } }, { sort: ['salary'] }])
      expect([query, await other.status('POST', '/people/query', query)]).toEqual([query, 400]);
    const { body } = await other.send('GET', '/people?salary=100');
    const detail = expect.not.stringMatching(/Allowed:.*salary/) as string;
    expect(body.errors).toMatchObject([{ parameter: 'salary', detail }]);
    const ordered = await other.send('GET', '/people?sort=salary');
    const orders = expect.not.stringContaining('name,salary') as string;
    expect(ordered.body.errors).toMatchObject([{ detail: orders }]);
  });

  it.each([
    ['a create', 'POST', '/people', { celery: 1 }],
    ['a change', 'PATCH', ada, { celery: 1 }],
    ['a bulk', 'POST', '/people/bulk', { operations: [{ create: { celery: 1 } }] }],
  ])('is named as allowed in %s only to those who may write it', async (_what, method, path, body) => {
    expect((await hr.send(method, path, body)).text).toContain('Allowed: name, salary, note.');
    expect((await other.send(method, path, body)).text).toContain('Allowed: name.');
  });

  it('is a 403 at its place in what others send, alone and in batches', async () => {
    const detail = 'You may not write "salary". Leave it out.';
    const problem = { status: 403, code: 'FORBIDDEN_FIELD', errors: [{ pointer: '/salary', detail }] };
    const create = { name: 'Eve', salary: 1 };
    const created = await other.send('POST', '/people', create);
    expect([created.status, created.body]).toMatchObject([403, problem]);
    const operations = [{ create }, { create: { name: 'Eve' } }];
    const bulk = await other.send('POST', '/people/bulk', { operations });
    expect(bulk.body.results).toMatchObject([problem, { status: 201 }]);
    const headers = { 'Content-Type': 'application/x-ndjson' };
    const imported = await other.send('POST', '/people/import', `${JSON.stringify(create)}\n`, headers);
    expect(JSON.parse(imported.text)).toMatchObject({ line: 1, status: 403 });
    for (const salary of [1, null, 'no number'])
      expect((await other.send('PATCH', ada, { salary })).body).toMatchObject(problem);
    const update = { _id: id, changes: { salary: 1 } };
    const updated = await other.send('POST', '/people/bulk', { operations: [{ update }] });
    expect(updated.body.results).toMatchObject([problem]);
    expect(await hr.get(ada)).toMatchObject({ salary: 100 });
    expect(await hr.status('PATCH', ada, { salary: 5, note: 'good' })).toBe(200);
    expect(await hr.get(ada)).toMatchObject({ salary: 5 });
    // All read this field, and some write it.
    expect(await other.get(ada)).toMatchObject({ note: 'good' });
    expect((await other.send('PATCH', ada, { note: 'bad' })).body.code).toBe('FORBIDDEN_FIELD');
  });

  it.each([
    [[], 403],
    [['hr'], 201],
  ])('sent with the roles %j in a body that no route describes is a %d', async (roles, status) => {
    const request = { token: tokenOf(ACME, { sub: 'o', roles }), body: { name: 'Eve', salary: 1 } };
    expect(await sendTo(app.url, 'POST', '/people/own', request)).toMatchObject({ status });
  });

  it.each([
    ['/people', { name: 'Eve', salary: 7 }],
    ['/people/eve', undefined],
  ])('is not shown again under the key of someone who had the role: POST %s', async (path, body) => {
    const headers = { 'Idempotency-Key': 'k', Prefer: 'return=representation' };
    const send = (one: typeof hr) => one.send('POST', path, body, headers);
    const { body: made } = await send(hr);
    expect(made).toMatchObject({ name: 'Eve', salary: 7 });
    const again = await send(requestsOf(app, tokenOf(ACME, { sub: 'hanna' })));
    expect(again.body._id).toBe(made._id);
    expect(again.text).not.toContain('salary');
    expect((await send(hr)).body).toEqual(made);
  });

  it('is optional in the document', async () => {
    const { Person } = (await app.get('/docs/openapi.json')).body.components.schemas;
    expect(Person.required).not.toContain('salary');
    expect(Person.properties).toHaveProperty('salary');
  });
});

const secret = { query: {}, rules: { note: { read: hasRole('hr') } } };
const texts = { name: String, note: String, salary: Number, tenant: String };
const pairs = new Schema(texts, { timestamps: true }).index({ name: 1, note: 1 }, { unique: true });
const badge = [Prop({ type: String, unique: true }), IsText({ max: 50, ...optional })];
const restores = { fields: { note: badge }, archive: { field: 'closedAt' } };
const note = { to: people.entity, onDelete: 'restrict' } as const;
const refers = { fields: { note: IsReference(() => people.entity, optional) }, references: { note } };

it.each<[string, Partial<Outline>, string]>([
  ['a strange field', { rules: { salery: { read: hasRole('hr') } } }, 'fields.salery is not a field'],
  ['no function', { rules: { salary: { read: true as never } } }, 'fields.salary.read must be a function'],
  ['a searched field', { ...secret, query: { search: ['note'] } }, 'is searched'],
  ['a rule without a rule', { rules: { salary: {} } }, 'fields.salary says nothing'],
  [
    'an isolating field',
    { rules: { tenant: { read: hasRole('hr') } } },
    'fields.tenant decides which records are found',
  ],
  ['a required field', { rules: { name: { write: hasRole('hr') } } }, 'fields.name is required in a create'],
  ['public reads', { isolationFields: {} }, 'but the action get takes no token'],
  ['events with records', { ...secret, events: true }, "events: { data: 'id' }"],
  ['what a deletion tells', { ...secret, ...refers }, 'fields.note is a reference'],
  ['what a rename tells', { ...secret, schema: pairs }, 'fields.note is unique'],
  ['what a restore tells', { ...secret, ...restores }, 'fields.note is unique'],
])('stops the start for %s', async (_what, more, reason) => {
  await expect((async () => createResourceApp(feature({ ...outline, ...more })))()).rejects.toThrow(reason);
});

it('can be filtered by through a reference if all may read it, and otherwise stops the start', async () => {
  const filter = (field: string) => ({ ...desks, query: { filter: [`person.${field}`] } }) as never;
  const start = (field: string) =>
    createResourceApp(CrudModule.forFeature(people), CrudModule.forFeature(filter(field)));
  await expect(start('salary')).rejects.toThrow('"person.salary", which only some callers see');
  await (await start('note')).close();
});

it('starts with a unique index over it and a field that no client sends, though its name begins that', () => {
  const kept = { tenant: Prop({ type: String }), noted: Prop({ type: Date }) };
  const schema = new Schema({ ...texts, noted: Date }, { timestamps: true });
  schema.index({ note: 1, noted: 1 }, { unique: true });
  expect(() => feature({ ...outline, ...secret, kept, schema })).not.toThrow();
});
