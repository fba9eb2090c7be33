import { eventually } from '../../test/support/eventually.js';
import { expectInvalid, expectNotFound, expectUnauthenticated } from '../../test/support/problems.js';
import { useResourceApp } from '../../test/support/resource-app.js';
import { ACME, acme, globex } from '../../test/support/tenants.js';
import { KEPT } from '../../test/support/whole-records.js';
import { CategoriesModule } from '../categories/index.js';
import { OrdersModule } from '../orders/index.js';
import { ProductsModule } from '../products/index.js';
import { InvoicesModule } from './invoices.module.js';

const ADDRESS = { street: '12 Mill Lane', postcode: 'CB2 1TN', city: 'Cambridge' };

describe('invoices', () => {
  const app = useResourceApp(InvoicesModule, OrdersModule, ProductsModule, CategoriesModule);
  beforeEach(() => app.empty());

  /** Pays an order of 20.00, and gives back its id. */
  async function paidOrder(): Promise<string> {
    const shoe = { name: 'Shoe', price: '10.00', variants: [] };
    const product = (await app.post('/products', shoe, { token: acme })).body._id as string;
    const order = { lines: [{ product, quantity: 2 }] };
    const id = (await app.post('/orders', order, { token: acme })).body._id as string;
    await app.post(`/orders/${id}/status`, { status: 'paid' }, { token: acme });
    return id;
  }

  /** The one invoice, which is made after the answer to the payment. */
  const invoice = () =>
    eventually(async () => {
      const { body } = await app.get('/invoices', { token: acme });
      expect(body).toHaveLength(1);
      return body[0] as { _id: string };
    });

  it('are made when an order is paid, and at no other change of it', async () => {
    const order = await paidOrder();
    const made = await invoice();
    expect(made).toEqual({ ...KEPT, order, amount: '20.00', tenant: ACME });
    await app.patch(`/orders/${order}`, { note: 'Thanks' }, { token: acme });
    await app.post(`/orders/${order}/status`, { status: 'shipped' }, { token: acme });
    expect((await app.get('/invoices', { token: acme })).body).toEqual([made]);
  });

  it('are there for their tenant only', async () => {
    await paidOrder();
    const path = `/invoices/${(await invoice())._id}`;
    expect((await app.get('/invoices', { token: globex })).body).toEqual([]);
    expect((await app.get('/invoices/count', { token: globex })).body).toEqual({ count: 0 });
    expectNotFound(await app.get(path, { token: globex }), path, 'Invoice');
    expectUnauthenticated(await app.get('/invoices'), '/invoices');
  });

  it('get an address, always as a whole', async () => {
    const order = await paidOrder();
    const { _id } = await invoice();
    const path = `/invoices/${_id}/address`;
    const whole = { ...KEPT, _id, order, amount: '20.00', address: ADDRESS, tenant: ACME };
    const put = await app.request('PUT', path, { body: ADDRESS, token: acme });
    expect([put.status, put.body]).toEqual([200, whole]);
    expect((await app.get(`/invoices/${_id}`, { token: acme })).body).toEqual(whole);
    expectInvalid(
      await app.request('PUT', path, { body: { city: 'Oxford' }, token: acme }),
      path,
      {
        pointer: '/street',
        detail: '"street" must be a string of 1 to 200 characters.',
      },
      {
        pointer: '/postcode',
        detail: '"postcode" must be a string of 1 to 20 characters.',
      },
    );
    expectNotFound(await app.request('PUT', path, { body: ADDRESS, token: globex }), path, 'Invoice');
    expectUnauthenticated(await app.request('PUT', path, { body: ADDRESS }), path);
  });

  it('are neither made, changed nor deleted by clients', async () => {
    await paidOrder();
    const path = `/invoices/${(await invoice())._id}`;
    expect((await app.post('/invoices', {}, { token: acme })).status).toBe(405);
    expect((await app.patch(path, {}, { token: acme })).status).toBe(405);
    expect((await app.del(path, { token: acme })).status).toBe(405);
  });
});
