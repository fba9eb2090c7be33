/** @mongodb */
import { Body, Post } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Schema, Types } from 'mongoose';
import { CrudController, CrudModule } from '../../src/common/crud/index.js';
import { IsNumber, IsReference, IsText } from '../../src/common/fields/index.js';
import { CurrentScope, currentTenant, hasRole, type TenantScope } from '../../src/common/tenancy/index.js';
import { feature, type Made, type Outline, resource } from '../support/resource.js';
import { createResourceApp } from '../support/resource-app.js';
import { ACME, tokenOf } from '../support/tenants.js';
import { type TestResponse, useApp } from '../support/test-app.js';

const optional = { optional: true };
const isolationFields = { all: { tenant: currentTenant } };
const outline: Outline = {
  name: 'people',
  class: 'Person',
  fields: {
    name: IsText({ max: 50 }),
    salary: IsNumber({ min: 0, max: 1_000_000, ...optional }),
    note: IsText({ max: 50, ...optional }),
  },
  kept: { tenant: Prop({ type: String }), closedAt: Prop({ type: Date }) },
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
}

const hr = tokenOf(ACME, { sub: 'hanna', roles: ['hr', 'chief'] });
const other = tokenOf(ACME, { sub: 'otto', role: 'clerk' });

describe('a field that only some callers read', () => {
  const start = () =>
    createResourceApp(
      CrudModule.forFeature(people, { controller: PeopleController }),
      feature({
        name: 'desks',
        fields: { person: IsReference(() => people.entity) },
        kept: { tenant: Prop({ type: String }) },
        isolationFields,
        references: { person: { to: people.entity } },
      }),
    );
  /** Two worlds that differ in the field alone. */
  const worlds = [useApp(start), useApp(start)] as const;
  const id = '665f1c2ab7e3a90d4c8b7001';

  beforeEach(async () => {
    for (const [i, app] of worlds.entries()) {
      await app.empty();
      const at = new Date(0);
      const record = { tenant: ACME, createdAt: at, updatedAt: at, __v: 0 };
      await app.database.collection('people').insertMany([
        { _id: new Types.ObjectId(id), name: 'Ada', ...record, ...(i === 0 && { salary: 100 }) },
        {
          _id: new Types.ObjectId(id.replace(/1$/, '2')),
          name: 'Bob',
          ...record,
          salary: i === 0 ? 10 : 500,
        },
      ]);
      const person = new Types.ObjectId(id);
      await app.database
        .collection('desks')
        .insertOne({ _id: new Types.ObjectId(id.replace(/1$/, '9')), person, ...record });
    }
  });

  const told = ({ status, text, headers }: TestResponse) => ({
    status,
    text: text.replace(/"requestId":"[^"]+"|(?<="next":)"[^"]+"/g, ''),
    etag: headers.get('etag'),
    link: headers.get('link'),
  });

  it.each([
    ['GET', '/people'],
    ['GET', '/people?limit=1'],
    ['GET', '/people?limit=1&sort=name'],
    ['GET', `/people/${id}`],
    ['GET', '/people?salary=100'],
    ['GET', '/people?salary[gte]=50'],
    ['GET', '/people?sort=salary'],
    ['GET', '/people?sort=-salary&limit=1'],
    ['GET', '/people?sort=name,salary'],
    ['GET', '/people?fields=salary'],
    ['GET', '/people/count?salary[exists]=true'],
    ['GET', '/desks?expand=person'],
    ['POST', '/people/query', { where: { salary: { gt: 50 } } }],
    ['POST', '/people/query', { where: { not: { salary: null } } }],
    ['POST', '/people/query', { sort: ['salary'] }],
    ['PATCH', `/people/${id}`, { salary: 1 }],
    ['PATCH', `/people/${id}`, { salary: null }],
    ['PATCH', `/people/${id}`, { salary: 'no number' }],
    ['POST', '/people', { name: 'Eve', salary: 1 }],
    ['POST', '/people/bulk', { operations: [{ update: { _id: id, changes: { salary: 1 } } }] }],
  ])('%s %s %j tells others the same whatever it is', async (method, path, body?: object) => {
    const headers = { Prefer: 'return=representation' };
    const [one, two] = await Promise.all(
      worlds.map((app) => app.request(method, path, { body, token: other, headers })),
    );
    expect(told(two as TestResponse)).toEqual(told(one as TestResponse));
    if (body === undefined) expect(told(one as TestResponse).text).not.toMatch(/100|500/);
    const [app] = worlds;
    const stored = await app.database.collection('people').find().sort({ _id: 1 }).toArray();
    expect(stored.map(({ salary }) => salary as number)).toEqual([100, 10]);
  });

  const [app] = worlds;

  it('is there for those who may read it, in every place', async () => {
    const ask = async (path: string) => (await app.get(path, { token: hr })).body;
    expect(await ask(`/people/${id}`)).toMatchObject({ salary: 100 });
    expect(await ask('/people?salary[gte]=50')).toMatchObject([{ name: 'Ada' }]);
    expect(await ask('/people?sort=salary&fields=salary')).toMatchObject([{ salary: 10 }, { salary: 100 }]);
    expect(await ask('/desks?expand=person')).toMatchObject([{ person: { salary: 100 } }]);
    expect((await app.get('/people', { token: hr, headers: { Accept: 'text/csv' } })).text).toContain(
      'salary',
    );
    expect((await app.get('/people', { token: other, headers: { Accept: 'text/csv' } })).text).not.toContain(
      'salary',
    );
  });

  it('is no parameter for others, as if there were none', async () => {
    const { body } = await app.get('/people?salary=100', { token: other });
    expect(body.errors).toMatchObject([
      { parameter: 'salary', detail: expect.not.stringMatching(/Allowed:.*salary/) as string },
    ]);
    const ordered = await app.get('/people?sort=salary', { token: other });
    expect(ordered.body.errors).toMatchObject([
      { detail: expect.not.stringContaining('name,salary') as string },
    ]);
  });

  it('is a 403 at its place in what others send, alone and in batches', async () => {
    const detail = 'You may not write "salary". Leave it out.';
    const problem = { status: 403, code: 'FORBIDDEN_FIELD', errors: [{ pointer: '/salary', detail }] };
    const created = await app.post('/people', { name: 'Eve', salary: 1 }, { token: other });
    expect([created.status, created.body]).toMatchObject([403, problem]);
    const operations = [{ create: { name: 'Eve', salary: 1 } }, { create: { name: 'Eve' } }];
    const bulk = await app.post('/people/bulk', { operations }, { token: other });
    expect(bulk.body.results).toMatchObject([problem, { status: 201 }]);
    const imported = await app.request('POST', '/people/import', {
      body: '{"name":"Eve","salary":1}\n',
      token: other,
      headers: { 'Content-Type': 'application/x-ndjson' },
    });
    expect(JSON.parse(imported.text)).toMatchObject({ line: 1, status: 403 });
    const patched = await app.patch(`/people/${id}`, { salary: 5 }, { token: hr });
    expect([patched.status, (await app.get(`/people/${id}`, { token: hr })).body.salary]).toEqual([200, 5]);
  });

  it('is a 403 in a body that no route describes, too', async () => {
    const send = async (token: string) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const body = JSON.stringify({ name: 'Eve', salary: 1 });
      return (await fetch(`${app.url}/people/own`, { method: 'POST', headers, body })).status;
    };
    expect([await send(other), await send(hr)]).toEqual([403, 201]);
  });

  it('may be read by all and written by some', async () => {
    await app.patch(`/people/${id}`, { note: 'good' }, { token: hr });
    expect((await app.get(`/people/${id}`, { token: other })).body.note).toBe('good');
    const { status, body } = await app.patch(`/people/${id}`, { note: 'bad' }, { token: other });
    expect([status, body.code]).toEqual([403, 'FORBIDDEN_FIELD']);
  });

  it('is not shown again under the key of someone who had the role', async () => {
    const headers = { 'Idempotency-Key': 'k', Prefer: 'return=representation' };
    const send = (token: string) => app.post('/people', { name: 'Eve', salary: 7 }, { token, headers });
    expect((await send(hr)).body).toMatchObject({ salary: 7 });
    const again = await send(tokenOf(ACME, { sub: 'hanna' }));
    expect(again.text).not.toContain('salary":7');
  });

  it('is optional in the document', async () => {
    const { components } = (await app.get('/docs/openapi.json')).body as {
      components: { schemas: Record<string, { required: string[]; properties: object }> };
    };
    expect(components.schemas.Person?.required).not.toContain('salary');
    expect(components.schemas.Person?.properties).toHaveProperty('salary');
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
  ['an isolating field', { rules: { tenant: { read: hasRole('hr') } } }, 'fields.tenant isolates records'],
  ['a required field', { rules: { name: { write: hasRole('hr') } } }, 'fields.name is required in a create'],
  ['public reads', { isolationFields: {} }, 'but the action get takes no token'],
  ['events with records', { ...secret, events: true }, "events: { data: 'id' }"],
  ['what a deletion tells', { ...secret, ...refers }, 'fields.note is a reference'],
  ['what a rename tells', { ...secret, schema: pairs }, 'fields.note is unique'],
  ['what a restore tells', { ...secret, ...restores }, 'fields.note is unique'],
])('stops the start for %s', async (_what, more, reason) => {
  await expect((async () => createResourceApp(feature({ ...outline, ...more })))()).rejects.toThrow(reason);
});
