/** @mongodb */
import { Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import {
  type Changes,
  CrudController,
  CrudModule,
  CrudService,
  type Stored,
} from '../../../src/common/crud/index.js';
import { currentTenant, type TenantScope } from '../../../src/common/tenancy/index.js';
import { IsIdentifier, IsText, schemaOf } from '../../../src/common/fields/index.js';
import { createResourceApp, useResourceApp } from '../../support/resource-app.js';
import { ACME, acme, GLOBEX, tokenOf } from '../../support/tenants.js';
import { resource, type Made } from '../../support/resource.js';

const booksCrud = resource({
  name: 'books',
  fields: {
    title: [Prop({ type: String, required: true }), IsText({ min: 1, max: 80, example: 'Middlemarch' })],
    isbn: [Prop({ type: String, unique: true, sparse: true }), IsText({ min: 1, max: 20, optional: true })],
  },
  kept: { tenant: IsIdentifier() },
  tag: 'Library',
  isolationFields: { all: { tenant: currentTenant } },
});

@Injectable()
class BooksService extends CrudService.for(booksCrud) {
  override create(scope: TenantScope, input: Made): Promise<Stored<Made>> {
    return super.create(scope, { ...input, title: String(input.title).toUpperCase() });
  }
}

class BooksController extends CrudController(booksCrud) {
  override async update(scope: TenantScope, id: string, changes: Changes<Made>): Promise<Stored<Made>> {
    return super.update(scope, id, { ...changes, title: `${String(changes.title)} (revised)` });
  }
}

describe('a resource whose every action is scoped by tenant', () => {
  const app = useResourceApp(
    CrudModule.forFeature(booksCrud, { controller: BooksController, service: BooksService }),
  );
  beforeEach(() => app.empty());

  const create = async (token: string, body: object) =>
    (await app.post('/books', body, { token })).body._id as string;

  it('runs a verb that the service overrides', async () => {
    const id = await create(acme, { title: 'Emma' });
    expect((await app.get(`/books/${id}`, { token: acme })).body.title).toBe('EMMA');
  });

  it('runs a handler that the feature overrides in its controller, with the route, guard and validation it had', async () => {
    const id = await create(acme, { title: 'Emma' });
    expect((await app.patch(`/books/${id}`, { title: 'Emma' }, { token: acme })).body).toEqual({
      updated: true,
    });
    expect((await app.get(`/books/${id}`, { token: acme })).body.title).toBe('Emma (revised)');
    expect((await app.patch(`/books/${id}`, { title: 'Emma' })).status).toBe(401);
    expect((await app.patch(`/books/${id}`, { titel: 'Emma' }, { token: acme })).body.errors).toEqual([
      { pointer: '/titel', detail: '"titel" is not an input field. Allowed: title, isbn.' },
    ]);
    expect((await app.patch('/books/1', { title: 'Emma' }, { token: acme })).body.code).toBe('INVALID_ID');
    const { paths } = (await app.get('/docs/openapi.json')).body;
    expect(paths['/books/{id}'].patch).toMatchObject({ tags: ['Library'], summary: 'Update a book' });
  });

  it('refuses a second record with a unique value', async () => {
    await create(acme, { title: 'Emma', isbn: '1' });
    const response = await app.post('/books', { title: 'Emma', isbn: '1' }, { token: acme });
    expect(response.status).toBe(409);
    expect(response.body).toMatchObject({ code: 'DUPLICATE_VALUE', errors: [{ pointer: '/isbn' }] });
    expect(response.text).not.toMatch(/E11000|collection|index/);
  });
});

it('a value that is unique within a tenant is refused without a word of the tenant', async () => {
  const schema = schemaOf(booksCrud.entity).index({ tenant: 1, title: 1 }, { unique: true });
  const app = await createResourceApp(CrudModule.forFeature({ ...booksCrud, schema }));
  try {
    const [acme, globex] = [await tokenOf(ACME), await tokenOf(GLOBEX)];
    const statusOf = async (token: string) => (await app.post('/books', { title: 'Emma' }, { token })).status;
    expect([await statusOf(acme), await statusOf(globex)]).toEqual([201, 201]);
    const { status, body } = await app.post('/books', { title: 'Emma' }, { token: acme });
    const detail = 'A record with the same title exists. Choose another value.';
    expect([status, body.detail, body.errors]).toEqual([409, detail, [{ pointer: '/title', detail }]]);
  } finally {
    await app.close();
  }
});

describe('disable', () => {
  const routes: [NonNullable<typeof booksCrud.disable>[number], string[]][] = [
    ['get', ['GET /books', 'GET /books/{id}', 'POST /books/query']],
    ['count', ['GET /books/count']],
    ['create', ['POST /books']],
    ['update', ['PATCH /books/{id}']],
    ['del', ['DELETE /books/{id}']],
  ];

  it.each(routes)('%s leaves out its routes, and only those', async (action, disabled) => {
    const app = await createResourceApp(CrudModule.forFeature({ ...booksCrud, disable: [action] }));
    const token = await tokenOf(ACME);
    try {
      const { paths } = (await app.get('/docs/openapi.json')).body as { paths: Record<string, object> };
      const documented = Object.entries(paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      );
      const all = routes.flatMap(([, names]) => names);
      expect(documented.sort()).toEqual(all.filter((route) => !disabled.includes(route)).sort());
      for (const route of disabled) {
        const [method = '', path = ''] = route.replace('{id}', ACME).split(' ');
        expect([400, 404, 405]).toContain((await app.request(method, path, { token })).status);
      }
    } finally {
      await app.close();
    }
  });
});
