import {
  expectInvalid,
  expectNotFound,
  expectProblem,
  expectUnauthenticated,
} from '../../test/support/problems.js';
import { useResourceApp } from '../../test/support/resource-app.js';
import { ACME, acme, globex } from '../../test/support/tenants.js';
import { KEPT, postWhole } from '../../test/support/whole-records.js';
import { CategoriesModule } from './index.js';

describe('categories', () => {
  const app = useResourceApp(CategoriesModule);
  beforeEach(() => app.empty());

  const created = async (name: string, parent?: string, token = acme) =>
    (await app.post('/categories', { name, parent }, { token })).body._id as string;
  const read = async (id: string) => (await app.get(`/categories/${id}`, { token: acme })).body as object;
  const move = (id: string, body: object, token = acme) =>
    app.post(`/categories/${id}/move`, body, { token });

  it('form a tree, each with a slug of its name', async () => {
    const root = await created('Shoes');
    const { status, body } = await postWhole(
      app,
      '/categories',
      { name: 'Crème & Söhne', parent: root },
      acme,
    );
    expect(status).toBe(201);
    expect(body).toEqual({ ...KEPT, name: 'Crème & Söhne', slug: 'creme-sohne', parent: root, tenant: ACME });
    expect(await read(root)).toEqual({ ...KEPT, _id: root, name: 'Shoes', slug: 'shoes', tenant: ACME });
  });

  it('get a new slug with a new name', async () => {
    const id = await created('Shoes');
    expect((await app.patch(`/categories/${id}`, { name: 'Boots' }, { token: acme })).body).toEqual({
      updated: true,
    });
    expect(await read(id)).toEqual({ ...KEPT, _id: id, name: 'Boots', slug: 'boots', tenant: ACME });
  });

  it('have one slug each within a tenant', async () => {
    await created('Shoes');
    expectProblem(await app.post('/categories', { name: 'shoes!' }, { token: acme }), {
      status: 409,
      code: 'DUPLICATE_VALUE',
      detail: 'A record with the same unique value exists. Choose another value.',
      instance: '/categories',
    });
    expect((await app.post('/categories', { name: 'shoes!' }, { token: globex })).status).toBe(201);
  });

  it('refuse a slug or a move by the wrong route', async () => {
    const id = await created('Shoes');
    expectInvalid(
      await app.post('/categories', { name: 'Boots', slug: 'x' }, { token: acme }),
      '/categories',
      {
        pointer: '/slug',
        detail: '"slug" is not an input field. Allowed: name, parent.',
      },
    );
    expectInvalid(
      await app.patch(`/categories/${id}`, { parent: id }, { token: acme }),
      `/categories/${id}`,
      { pointer: '/parent', detail: '"parent" is not an input field. Allowed: name.' },
    );
  });

  it('move below another one, and to the root', async () => {
    const [shoes, sport] = [await created('Shoes'), await created('Sport')];
    const moved = await move(shoes, { parent: sport });
    expect(moved.status).toBe(200);
    expect(moved.body).toEqual({
      ...KEPT,
      _id: shoes,
      name: 'Shoes',
      slug: 'shoes',
      parent: sport,
      tenant: ACME,
    });
    expect(await read(shoes)).toEqual(moved.body);
    expect((await move(shoes, {})).body).not.toHaveProperty('parent');
  });

  it('do not move in a circle', async () => {
    const top = await created('Top');
    const middle = await created('Middle', top);
    const leaf = await created('Leaf', middle);
    for (const parent of [top, middle, leaf, leaf.toUpperCase()]) {
      expectProblem(await move(top, { parent }), {
        status: 409,
        code: 'CONFLICT',
        title: 'Conflict',
        detail: '"Top" cannot be moved below itself.',
        instance: `/categories/${top}/move`,
      });
    }
    expect(await read(top)).not.toHaveProperty('parent');
    expect((await move(leaf, { parent: top })).status).toBe(200);
  });

  it('move only below a category that is there', async () => {
    const [id, foreign] = [await created('Shoes'), await created('Shoes', undefined, globex)];
    const path = `/categories/${id}/move`;
    expectInvalid(await move(id, { parent: foreign }), path, {
      pointer: '/parent',
      detail: '"parent" names no category that you can use.',
    });
    expectInvalid(await move(id, { parent: 'root' }), path, {
      pointer: '/parent',
      detail: '"parent" must be an identifier of 24 hexadecimal digits.',
    });
    expectNotFound(await move(id, {}, globex), path, 'Category');
    expectUnauthenticated(await app.post(path, {}), path);
  });

  it('stay as long as there is one below', async () => {
    const top = await created('Top');
    const leaf = await created('Leaf', top);
    expectProblem(await app.del(`/categories/${top}`, { token: acme }), {
      status: 409,
      code: 'STILL_REFERENCED',
      detail: 'The category is still referenced by categories. Change or delete those first.',
      instance: `/categories/${top}`,
    });
    expect((await app.del(`/categories/${leaf}`, { token: acme })).body).toEqual({ deleted: true });
    expect((await app.del(`/categories/${top}`, { token: acme })).body).toEqual({ deleted: true });
  });
});
