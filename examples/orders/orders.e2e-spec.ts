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
import { ProductsModule } from '../products/index.js';
import { OrdersModule } from './index.js';

describe('orders', () => {
  const app = useResourceApp(OrdersModule, ProductsModule, CategoriesModule);
  beforeEach(() => app.empty());

  const productOf = async (price: string, token = acme) =>
    (await app.post('/products', { name: 'Shoe', price, variants: [] }, { token })).body._id as string;
  const placed = async (body?: object) => {
    const lines = [{ product: await productOf('89.90'), quantity: 2 }];
    return (await app.post('/orders', body ?? { lines }, { token: acme })).body._id as string;
  };
  const move = (id: string, status: unknown, token = acme) =>
    app.post(`/orders/${id}/status`, { status }, { token });
  const conflict = (instance: string, detail: string) => ({
    status: 409,
    code: 'CONFLICT',
    title: 'Conflict',
    detail,
    instance,
  });

  it('have a total that is computed exactly', async () => {
    const lines = [
      { product: await productOf('0.10'), quantity: 3 },
      { product: await productOf('1999.99'), quantity: 1000 },
    ];
    const { status, body } = await postWhole(app, '/orders', { lines, note: 'Ring twice.' }, acme);
    expect(status).toBe(201);
    const order = { lines, note: 'Ring twice.', total: '1999990.30', status: 'placed', tenant: ACME };
    expect(body).toEqual({ ...KEPT, ...order });
    expect((await app.get(`/orders/${body._id}`, { token: acme })).body).toEqual(body);
  });

  it('come with the products of their lines if those are asked for', async () => {
    const product = await productOf('10.00');
    await placed({ lines: [{ product, quantity: 3 }] });
    const shoe = (await app.get(`/products/${product}`, { token: acme })).body;
    const { body } = await app.get('/orders?expand=lines.product', { token: acme });
    expect(body.results).toMatchObject([{ lines: [{ product: shoe, quantity: 3 }] }]);
    // As an export, page by page: orders have no list of every record.
    const headers = { Accept: 'application/x-ndjson' };
    const lines = await app.get('/orders?expand=lines.product', { token: acme, headers });
    expect(lines.body).toEqual(body.results);
  });

  it('get a new total with new lines, and keep it otherwise', async () => {
    const product = await productOf('10.00');
    const id = await placed({ lines: [{ product, quantity: 1 }] });
    await app.patch(`/products/${product}`, { price: '12.50' }, { token: acme });
    await app.patch(`/orders/${id}`, { note: 'Soon, please.' }, { token: acme });
    expect((await app.get(`/orders/${id}`, { token: acme })).body).toMatchObject({ total: '10.00' });
    const lines = [{ product, quantity: 2 }];
    expect((await app.patch(`/orders/${id}`, { lines }, { token: acme })).body).toEqual({ updated: true });
    expect((await app.get(`/orders/${id}`, { token: acme })).body).toEqual({
      ...KEPT,
      _id: id,
      lines,
      note: 'Soon, please.',
      total: '25.00',
      status: 'placed',
      tenant: ACME,
    });
  });

  it('refuse what does not fit, and what only the service sets', async () => {
    const product = await productOf('10.00');
    expectInvalid(
      await app.post(
        '/orders',
        { lines: [{ product, quantity: 0 }], total: '1.00', status: 'paid' },
        { token: acme },
      ),
      '/orders',
      { pointer: '/total', detail: '"total" is not an input field. Allowed: lines, note.' },
      { pointer: '/status', detail: '"status" is not an input field. Allowed: lines, note.' },
      { pointer: '/lines/0/quantity', detail: '"quantity" must be a whole number from 1 to 1000.' },
    );
    expectInvalid(await app.post('/orders', { lines: [] }, { token: acme }), '/orders', {
      pointer: '/lines',
      detail: '"lines" must be an array of 1 to 100 entries, each an object.',
    });
  });

  it('refer only to products of the same tenant', async () => {
    const lines = [
      { product: await productOf('10.00'), quantity: 1 },
      { product: await productOf('10.00', globex), quantity: 1 },
    ];
    const fault = {
      pointer: '/lines/1/product',
      detail: '"lines.product" names no product that you can use.',
    };
    expectInvalid(await app.post('/orders', { lines }, { token: acme }), '/orders', fault);
    const id = await placed();
    expectInvalid(await app.patch(`/orders/${id}`, { lines }, { token: acme }), `/orders/${id}`, fault);
  });

  it('keep their products from being deleted', async () => {
    const product = await productOf('10.00');
    await placed({ lines: [{ product, quantity: 1 }] });
    expectProblem(await app.del(`/products/${product}`, { token: acme }), {
      status: 409,
      code: 'STILL_REFERENCED',
      detail: 'The product is still referenced by orders. Change or delete those first.',
      instance: `/products/${product}`,
    });
  });

  it('move from status to status by the rules', async () => {
    const id = await placed();
    const path = `/orders/${id}/status`;
    const wrong = 'An order that is placed cannot be shipped.';
    expectProblem(await move(id, 'shipped'), conflict(path, wrong));
    const paid = await move(id, 'paid');
    expect(paid.status).toBe(200);
    expect(paid.body).toEqual((await app.get(`/orders/${id}`, { token: acme })).body);
    expect(paid.body.status).toBe('paid');
    expectProblem(await move(id, 'paid'), conflict(path, 'An order that is paid cannot be paid.'));
    expect((await move(id, 'shipped')).body.status).toBe('shipped');
    expectProblem(
      await move(id, 'cancelled'),
      conflict(path, 'An order that is shipped cannot be cancelled.'),
    );
    expectInvalid(await move(id, 'lost'), path, {
      pointer: '/status',
      detail: '"status" must be one of "placed", "paid", "shipped", "cancelled".',
    });
  });

  it('are paid once, however many try at the same moment', async () => {
    const id = await placed();
    const answers = await Promise.all(Array.from({ length: 5 }, () => move(id, 'paid')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409]);
  });

  it('keep their lines once they are paid', async () => {
    const id = await placed();
    await move(id, 'paid');
    const lines = [{ product: await productOf('1.00'), quantity: 1 }];
    expectProblem(
      await app.patch(`/orders/${id}`, { lines }, { token: acme }),
      conflict(`/orders/${id}`, 'The lines of an order that is paid cannot be changed.'),
    );
    expect((await app.patch(`/orders/${id}`, { note: 'Thanks' }, { token: acme })).status).toBe(200);
  });

  it('are listed in pages of at most 200', async () => {
    const id = await placed();
    const order = (await app.get(`/orders/${id}`, { token: acme })).body;
    expect((await app.get('/orders', { token: acme })).body).toEqual({
      results: [order],
      count: 1,
      next: null,
      prev: null,
    });
    expect((await app.get('/orders?limit=200', { token: acme })).status).toBe(200);
    const detail = '"limit" must be a whole number from 1 to 200.';
    expectInvalid(await app.get('/orders?limit=201', { token: acme }), '/orders', {
      parameter: 'limit',
      detail,
    });
  });

  it('are there for their tenant only, and are not deleted', async () => {
    const path = `/orders/${await placed()}`;
    expectNotFound(await app.get(path, { token: globex }), path, 'Order');
    expectNotFound(
      await app.post(`${path}/status`, { status: 'paid' }, { token: globex }),
      `${path}/status`,
      'Order',
    );
    expect((await app.get('/orders', { token: globex })).body).toEqual({
      results: [],
      count: 0,
      next: null,
      prev: null,
    });
    expectUnauthenticated(await app.post(`${path}/status`, { status: 'paid' }), `${path}/status`);
    expect((await app.del(path, { token: acme })).status).toBe(405);
  });
});
