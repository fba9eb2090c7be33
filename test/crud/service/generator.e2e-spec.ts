/** @mongodb */
import { Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { type Changes, CrudController, CrudModule, CrudService } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import type { TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { type Made, OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme } from '../../support/tenants.js';

const fields = {
  title: [Prop({ type: String, required: true }), IsText({ min: 1, max: 80, example: 'Middlemarch' })],
  isbn: IsText({ min: 1, max: 20, optional: true }),
};
const books = resource({ name: 'books', fields, ...OF_TENANT, tag: 'Library' });

@Injectable()
class BooksService extends CrudService.for(books) {
  override create(scope: TenantScope, input: Made) {
    return super.create(scope, { ...input, title: String(input.title).toUpperCase() });
  }
}

class BooksController extends CrudController(books) {
  override update(scope: TenantScope, id: string, changes: Changes<Made>) {
    return super.update(scope, id, { ...changes, title: `${String(changes.title)} (revised)` });
  }
}

const ROUTES = {
  get: ['GET ', 'GET /{id}', 'POST /query'],
  count: ['GET /count'],
  create: ['POST '],
  update: ['PATCH /{id}'],
  del: ['DELETE /{id}'],
};
const ACTIONS = Object.keys(ROUTES) as (keyof typeof ROUTES)[];
/** A resource without an action. */
const lacking = (action: (typeof ACTIONS)[number]) =>
  resource({ name: `no-${action}`, class: `No${action}`, fields, ...OF_TENANT, disable: [action] });

const app = useResourceApp(
  CrudModule.forFeature(books, { controller: BooksController, service: BooksService }),
  ...ACTIONS.map(lacking),
);
beforeEach(() => app.empty());

describe('a resource whose every action is scoped by tenant', () => {
  it('runs a verb that the service overrides', async () => {
    const id = await app.create('/books', { title: 'Emma' }, acme);
    expect((await app.get(`/books/${id}`, { token: acme })).body.title).toBe('EMMA');
  });

  it('runs a handler that the feature overrides in its controller, with the route, guard and validation it had', async () => {
    const path = `/books/${await app.create('/books', { title: 'Emma' }, acme)}`;
    const changed = await app.patch(path, { title: 'Emma' }, { token: acme });
    expect(changed.body).toEqual({ updated: true });
    expect((await app.get(path, { token: acme })).body.title).toBe('Emma (revised)');
    expect((await app.patch(path, { title: 'Emma' })).status).toBe(401);
    const misspelt = await app.patch(path, { titel: 'Emma' }, { token: acme });
    const detail = '"titel" is not an input field. Allowed: title, isbn.';
    expect(misspelt.body.errors).toEqual([{ pointer: '/titel', detail }]);
    expect((await app.patch('/books/1', { title: 'Emma' }, { token: acme })).body.code).toBe('INVALID_ID');
    const { paths } = (await app.get('/docs/openapi.json')).body;
    expect(paths['/books/{id}'].patch).toMatchObject({ tags: ['Library'], summary: 'Update a book' });
  });
});

it.each(ACTIONS)('disable: %s leaves out its routes, and only those', async (action) => {
  const { paths } = (await app.get('/docs/openapi.json')).body as { paths: Record<string, object> };
  const prefix = `/no-${action}`;
  const documented = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter(() => path === prefix || path.startsWith(`${prefix}/`))
      .map((method) => `${method.toUpperCase()} ${path.slice(prefix.length)}`),
  );
  const { [action]: disabled, ...others } = ROUTES;
  expect(documented.sort()).toEqual(Object.values(others).flat().sort());
  for (const route of disabled) {
    const [method = '', rest = ''] = route.split(' ');
    const { status } = await app.request(method, prefix + rest.replace('{id}', ACME), { token: acme });
    expect([400, 404, 405]).toContain(status);
  }
});
