import {
  expectInvalid,
  expectNotFound,
  expectProblem,
  expectUnauthenticated,
} from '../../test/support/problems.js';
import { useResourceApp } from '../../test/support/resource-app.js';
import { ACME, acme, globex } from '../../test/support/tenants.js';
import { KEPT, postWhole } from '../../test/support/whole-records.js';
import { CategoriesModule } from '../categories/index.js';
import { ProductsModule } from './index.js';

const SHOE = {
  name: 'Trail shoe',
  price: '89.90',
  colour: 'blue',
  dimensions: { length: 31.5, width: 20, height: 12 },
  variants: [
    { sku: 'SHOE-42', size: '42', stock: 12 },
    { sku: 'SHOE-43', size: '43', stock: 0 },
  ],
};

describe('products', () => {
  const app = useResourceApp(ProductsModule, CategoriesModule);
  beforeEach(() => app.empty());

  const categoryOf = async (token: string) =>
    (await app.post('/categories', { name: 'Shoes' }, { token })).body._id as string;
  const createdId = async (body: object, token = acme) =>
    (await app.post('/products', body, { token })).body._id as string;

  it('are filtered by price, nested fields and variants, and sorted', async () => {
    const boot = {
      ...SHOE,
      name: 'Boot',
      price: '129.00',
      colour: 'red',
      dimensions: { length: 35, width: 25 },
    };
    const lace = { name: 'Lace', price: '4.50', variants: [{ sku: 'LACE', size: '90', stock: 0 }] };
    for (const body of [SHOE, boot, lace]) await createdId(body);
    await createdId(SHOE, globex);
    const namesOf = async (query: string) =>
      ((await app.get(`/products?${query}`, { token: acme })).body as { name: string }[]).map(
        ({ name }) => name,
      );
    expect(await namesOf('price[gte]=89.9&sort=-price')).toEqual(['Boot', 'Trail shoe']);
    expect(await namesOf('dimensions.width[gt]=20')).toEqual(['Boot']);
    expect(await namesOf('variants.sku=SHOE-43&colour[in]=blue,black')).toEqual(['Trail shoe']);
    expect(await namesOf('dimensions.width[exists]=false')).toEqual(['Lace']);
    expect(await namesOf('name[contains]=SHOE')).toEqual(['Trail shoe']);
    expect(await namesOf('sort=colour,-price')).toEqual(['Lace', 'Trail shoe', 'Boot']);
    expect((await app.get('/products?fields=name&limit=1&sort=price', { token: acme })).body).toEqual({
      results: [{ _id: expect.any(String), name: 'Lace' }],
      count: 3,
      next: expect.any(String),
      prev: null,
    });
  });

  it('come back as they were sent', async () => {
    const category = await categoryOf(acme);
    const { status, body } = await postWhole(app, '/products', { ...SHOE, category }, acme);
    expect(status).toBe(201);
    expect(body).toEqual({ ...SHOE, category, ...KEPT, tenant: ACME });
    expect((await app.get(`/products/${body._id}`, { token: acme })).body).toEqual(body);
    expect((await app.get('/products', { token: acme })).body).toEqual([body]);
    expect((await app.get('/products?limit=1', { token: acme })).body).toEqual({
      results: [body],
      count: 1,
      next: null,
      prev: null,
    });
  });

  it('keep a price exactly, with its zeros', async () => {
    const id = await createdId({ ...SHOE, price: '0.10' });
    expect((await app.get(`/products/${id}`, { token: acme })).body.price).toBe('0.10');
  });

  it('refuse every wrong field with its place', async () => {
    const body = {
      name: '',
      price: 89.9,
      colour: 'mauve',
      dimensions: { length: -1, depth: 3 },
      variants: [{ sku: 'SHOE-42', size: '42', stock: '12' }],
    };
    expectInvalid(
      await app.post('/products', body, { token: acme }),
      '/products',
      {
        pointer: '/dimensions/depth',
        detail: '"depth" is not an input field. Allowed: length, width, height.',
      },
      { pointer: '/name', detail: '"name" must be a string of 1 to 200 characters.' },
      {
        pointer: '/price',
        detail:
          '"price" must be a decimal string with at most 2 digits after the point, from 0 to 999999.99, such as "89.90".',
      },
      { pointer: '/colour', detail: '"colour" must be one of "black", "blue", "red".' },
      { pointer: '/dimensions/length', detail: '"length" must be a number from 0 to 1000.' },
      { pointer: '/dimensions/width', detail: '"width" must be a number from 0 to 1000.' },
      { pointer: '/variants/0/stock', detail: '"stock" must be a whole number from 0 to 100000.' },
    );
  });

  it('take a change of one dimension, of all variants, and of nothing else', async () => {
    const id = await createdId(SHOE);
    const changes = { dimensions: { width: 21, height: null }, variants: [], colour: null };
    expect((await app.patch(`/products/${id}`, changes, { token: acme })).body).toEqual({ updated: true });
    expect((await app.get(`/products/${id}`, { token: acme })).body).toEqual({
      ...KEPT,
      _id: id,
      name: 'Trail shoe',
      price: '89.90',
      dimensions: { length: 31.5, width: 21 },
      variants: [],
      tenant: ACME,
    });
  });

  it('refer only to a category of the same tenant', async () => {
    const foreign = await categoryOf(globex);
    const fault = { pointer: '/category', detail: '"category" names no category that you can use.' };
    expectInvalid(
      await app.post('/products', { ...SHOE, category: foreign }, { token: acme }),
      '/products',
      fault,
    );
    const id = await createdId(SHOE);
    expectInvalid(
      await app.patch(`/products/${id}`, { category: foreign }, { token: acme }),
      `/products/${id}`,
      fault,
    );
  });

  it('come with their category if that is asked for', async () => {
    const category = await categoryOf(acme);
    const id = await createdId({ ...SHOE, category });
    const shoes = (await app.get(`/categories/${category}`, { token: acme })).body;
    const expanded = await app.get(`/products/${id}?expand=category`, { token: acme });
    expect(expanded.body).toMatchObject({ name: 'Trail shoe', category: shoes });
    expect((await app.get('/products?expand=category', { token: acme })).body).toEqual([expanded.body]);
  });

  it('keep their category from being deleted', async () => {
    const category = await categoryOf(acme);
    const id = await createdId({ ...SHOE, category });
    expectProblem(await app.del(`/categories/${category}`, { token: acme }), {
      status: 409,
      code: 'STILL_REFERENCED',
      detail: 'The category is still referenced by products. Change or delete those first.',
      instance: `/categories/${category}`,
    });
    await app.patch(`/products/${id}`, { category: null }, { token: acme });
    expect((await app.del(`/categories/${category}`, { token: acme })).body).toEqual({ deleted: true });
  });

  it('are there for their tenant only', async () => {
    const id = await createdId(SHOE);
    const path = `/products/${id}`;
    expectNotFound(await app.get(path, { token: globex }), path, 'Product');
    expectNotFound(await app.patch(path, { name: 'Mine' }, { token: globex }), path, 'Product');
    expectNotFound(await app.del(path, { token: globex }), path, 'Product');
    expect((await app.get('/products', { token: globex })).body).toEqual([]);
    expect((await app.get('/products/count', { token: globex })).body).toEqual({ count: 0 });
    expectUnauthenticated(await app.get('/products'), '/products');
    expectUnauthenticated(await app.post('/products', SHOE), '/products');
    expect((await app.del(path, { token: acme })).body).toEqual({ deleted: true });
  });
});
