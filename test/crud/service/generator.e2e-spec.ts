import { type Changes, CrudController, CrudModule, type TenantScope } from '../../../src/index.js';
import { fault } from '../../support/faults.js';
import { expectInvalid, expectInvalidId } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';
import { type Made, OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme } from '../../support/tenants.js';

const books = resource({ name: 'books', ...OF_TENANT, tag: 'Library' });

class BooksController extends CrudController(books) {
  override update(scope: TenantScope, id: string, changes: Changes<Made>) {
    return super.update(scope, id, { ...changes, text: `${String(changes.text)} (revised)` });
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
  resource({ name: `no-${action}`, class: `No${action}`, ...OF_TENANT, disable: [action] });

const library = CrudModule.forFeature(books, { controller: BooksController });
const app = useResourceApp(library, ...ACTIONS.map(lacking));
beforeEach(() => app.empty());

it('a handler that a controller overrides has the route, guard and validation that it had', async () => {
  const path = `/books/${await app.create('/books', { text: 'Emma' }, acme)}`;
  const patch = (at: string, body: object) => app.patch(at, body, { token: acme });
  expect((await patch(path, { text: 'Emma' })).body).toEqual({ updated: true });
  expect((await app.get(path, { token: acme })).body.text).toBe('Emma (revised)');
  expect((await app.patch(path, { text: 'Emma' })).status).toBe(401);
  expectInvalid(
    await patch(path, { txet: 'Emma' }),
    path,
    fault('/txet', 'is not an input field. Allowed: text.'),
  );
  expectInvalidId(await patch('/books/1', { text: 'Emma' }), '/books/1');
  const { paths } = (await app.get('/docs/openapi.json')).body;
  expect(paths['/books/{id}'].patch).toMatchObject({ tags: ['Library'], summary: 'Update a book' });
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
