/** @mongodb */
import { QueueModule } from '../../../src/common/notifications/notifications.module.js';
import { DeliveryQueue } from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { useProxiedApp } from '../../support/proxied-app.js';
import { newDelivery, storedDeliveries } from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { resourceRoot } from '../../support/resource-app.js';
import { type TestAppOptions } from '../../support/test-app.js';

describe('a delivery in the queue', () => {
  const root: TestAppOptions['root'] = (environment, database) =>
    resourceRoot(environment, database, [QueueModule]);
  const app = useProxiedApp({ root });
  let queue: DeliveryQueue;
  beforeAll(() => void (queue = app.app.get(DeliveryQueue, { strict: false })));

  it('does not count as known if the database cannot be reached', async () => {
    const deliveries = [newDelivery(), newDelivery()];
    await app.proxy.turn('refuse');
    await expect(queue.add(deliveries)).rejects.toThrow();
    await app.proxy.turn('pass');
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
