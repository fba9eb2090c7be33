import { useResourceApp } from '../../support/resource-app.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme } from '../../support/tenants.js';

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

const app = useResourceApp(...ACTIONS.map(lacking));

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
