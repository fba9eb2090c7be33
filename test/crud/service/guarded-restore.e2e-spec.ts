import { createGuardedArchives } from '../../support/guarded-app.js';
import { expectProblem } from '../../support/problems.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { useApp } from '../../support/test-app.js';

const [admin, member] = await Promise.all([tokenOf(ACME, { role: 'admin' }), tokenOf(ACME)]);

const app = useApp(createGuardedArchives);
beforeEach(() => app.empty());

/** Path of a record that an administrator has archived. */
async function archivedPath(name: string): Promise<string> {
  const { body } = await app.post(`/${name}`, { name: 'Old' }, { token: admin });
  const path = `/${name}/${body._id as string}`;
  expect((await app.del(path, { token: admin })).status).toBe(200);
  return path;
}

describe('a restore is open to those alone whom the guards let', () => {
  it.each([
    ['update and delete', 'letters'],
    ['delete', 'parcels'],
    ['update, by a decorator of the override', 'invoices'],
  ])('%s', async (_guarded, name) => {
    const path = await archivedPath(name);
    const refused = await app.post(`${path}/restore`, undefined, { token: member });
    expectProblem(refused, {
      status: 403,
      code: 'FORBIDDEN',
      title: 'Forbidden',
      detail: 'Forbidden resource',
      instance: `${path}/restore`,
    });
    expect((await app.get(path, { token: admin })).status).toBe(404);
    const foreign = { token: await tokenOf(GLOBEX, { role: 'admin' }) };
    expect((await app.post(`${path}/restore`, undefined, foreign)).status).toBe(404);
    expect((await app.post(`${path}/restore`, undefined, { token: admin })).body).toEqual({ restored: true });
    expect((await app.get(path, { token: member })).status).toBe(200);
  });

  it('unless the route has guards of its own, or nothing is guarded', async () => {
    for (const name of ['cards', 'stamps']) {
      const path = await archivedPath(name);
      expect((await app.post(`${path}/restore`, undefined, { token: member })).status).toBe(200);
    }
  });
});
