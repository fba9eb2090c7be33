/** @mongodb */
import { QueueModule } from '../../../src/common/notifications/notifications.module.js';
import { DeliveryQueue } from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { newDelivery, storedDeliveries } from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { resourceRoot } from '../../support/resource-app.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { createTestApp, type TestApp, type TestAppOptions } from '../../support/test-app.js';

describe('a delivery in the queue', () => {
  const uri = freshDatabaseUri();
  const root: TestAppOptions['root'] = (environment, database) =>
    resourceRoot(environment, database, [QueueModule]);
  let proxy: TcpProxy;
  let app: TestApp;
  let queue: DeliveryQueue;
  beforeAll(async () => {
    proxy = await TcpProxy.before(uri);
    app = await createTestApp({ root, env: { MONGODB_URI: proxy.through(uri) } });
    queue = app.app.get(DeliveryQueue, { strict: false });
  });
  afterAll(async () => {
    await app.close();
    await proxy.close();
  });

  it('does not count as known if the database cannot be reached', async () => {
    const deliveries = [newDelivery(), newDelivery()];
    await proxy.turn('refuse');
    await expect(queue.add(deliveries)).rejects.toThrow();
    await proxy.turn('pass');
    await eventually(() => queue.add(deliveries));
    const events = (await storedDeliveries(app)).map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(deliveries.map(({ event }) => event)));
  });

  it('is kept for 30 days', async () => {
    expect(await app.database.collection('deliveries').indexes()).toContainEqual(
      expect.objectContaining({ key: { createdAt: 1 }, expireAfterSeconds: 30 * 24 * 60 * 60 }),
    );
  });
});
