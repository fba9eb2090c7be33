import type { IncomingMessage, ServerResponse } from 'node:http';
import { Types } from 'mongoose';
import { DeliveryQueue } from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { newDelivery, storedEvent, storeSubscriptions } from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { Receiver } from '../../support/receiver.js';
import { createResourceApp } from '../../support/resource-app.js';
import type { TestApp } from '../../support/test-app.js';

/** Long enough for hundreds of connections on a machine with other work. */
const WITHIN_MS = 30_000;

describe('the concurrent attempts of a worker', () => {
  let app: TestApp;
  /** Answers that the receiver still owes, the oldest first. */
  let owed: ServerResponse[];
  beforeEach(async () => {
    const targets = { allowPrivate: true, httpsOnly: false };
    app = await createResourceApp(NotificationsModule.forRoot({ targets }));
    owed = [];
  });
  const receiver = Receiver.forEach();
  beforeEach(() => void (receiver.answer = hold));
  // After the receiver, so that no attempt hangs.
  afterEach(() => app.close());

  function hold({ url }: IncomingMessage, response: ServerResponse): void {
    if (url === '/new') response.writeHead(204).end();
    else owed.push(response);
  }
  /** Stores subscriptions of tenants, and events of which each has a delivery. */
  async function announce(
    tenants: number,
    subscriptions: number,
    deliveries: number,
    path = '/slow',
    tenant = new Types.ObjectId(),
  ) {
    const owners = [tenant, ...Array.from({ length: tenants - 1 }, () => new Types.ObjectId())];
    const url = new URL(path, receiver.url).href;
    const given = Array.from({ length: subscriptions }, () =>
      owners.map((owner) => ({ tenant: owner, url })),
    );
    const stored = await storeSubscriptions(app, ...given.flat());
    const events = Array.from({ length: deliveries }, () => storedEvent());
    await app.database.collection('events').insertMany(events);
    const queued = stored.flatMap(({ _id: subscription, tenant }) =>
      events.map(({ _id }) => newDelivery({ subscription, tenant, event: _id })),
    );
    await app.app.get(DeliveryQueue, { strict: false }).add(queued);
  }
  /** Sends answers that are owed, the oldest first. */
  function answer(count: number, status: number): void {
    for (const response of owed.splice(0, count)) response.writeHead(status).end();
  }
  const arrived = (path = '/slow') => receiver.received.filter((one) => one.path === path).length;
  const haveArrived = (count: number, path?: string) =>
    eventually(() => expect(arrived(path)).toBe(count), WITHIN_MS);
  /** Asserts that so many attempts are made, and no more when those of a new tenant are. */
  async function expectOnly(count: number): Promise<void> {
    await haveArrived(count);
    const before = arrived('/new');
    await announce(1, 1, 1, '/new');
    await haveArrived(before + 1, '/new');
    expect(arrived()).toBe(count);
  }

  it('are one for a subscription until it has answered, then 8, and one again after a failure', async () => {
    await announce(1, 1, 20);
    await expectOnly(1);
    answer(1, 204);
    await expectOnly(1 + 8);
    answer(3, 204);
    await expectOnly(1 + 8 + 3);
    answer(8, 500);
    await expectOnly(1 + 8 + 3 + 1);
  });

  it('leave a slot to each subscription of a tenant, and the good one gets all of its deliveries', async () => {
    const tenant = new Types.ObjectId();
    await announce(1, 99, 3, '/slow', tenant);
    await haveArrived(99);
    await announce(1, 1, 40, '/new', tenant);
    await haveArrived(40, '/new');
    // None of those that hang had a second one, and all are still waited for.
    expect([arrived(), owed.length]).toEqual([99, 99]);
  });

  it('are limited to 400 in all', async () => {
    await announce(50, 4, 12);
    await haveArrived(200);
    for (let left = 200; left > 0; left--) answer(1, 204);
    await eventually(() => expect(arrived()).toBeGreaterThan(450), WITHIN_MS);
    expect(owed.length).toBeLessThanOrEqual(400);
  });
});
