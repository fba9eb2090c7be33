/** @mongodb */
import {
  claimOldest,
  deliveriesOf,
  newDeliveries,
  newDelivery,
  queueRoot as root,
  storedDeliveries,
  useQueue,
} from '../../support/deliveries.js';
import { eventually } from '../../support/eventually.js';
import { useProxiedApp } from '../../support/proxied-app.js';
import { plansOf } from '../../support/query-plans.js';
import { commandsOf } from '../../support/sent-commands.js';

const HOUR_MS = 3_600_000;

/** What the queue of deliveries asks of the database. */
describe('the queue of deliveries', () => {
  const app = useProxiedApp({ root });
  const queue = useQueue(app);
  beforeEach(() => app.empty());

  const namesOf = async (run: () => Promise<unknown>) => (await commandsOf(app, run)).map(({ name }) => name);

  it('needs one command to add deliveries, three to claim a batch, and one for simultaneous outcomes', async () => {
    const deliveries = newDeliveries(100);
    expect(await namesOf(() => queue.add(deliveries))).toEqual(['insert deliveries']);
    let claimed: Awaited<ReturnType<typeof claimOldest>> = [];
    expect(await namesOf(async () => (claimed = await claimOldest(queue, 100)))).toEqual([
      'find deliveries',
      'update deliveries',
      'find deliveries',
    ]);
    const outcome = { at: new Date(), status: 200 };
    const finish = () => Promise.all(claimed.map((one) => queue.finish(one, outcome)));
    expect(await namesOf(finish)).toEqual(['update deliveries']);
  });

  it('reads no more than it returns, however many are delivered, dead or planned', async () => {
    const documents = newDeliveries(3_000).map((delivery, i) => ({
      ...delivery,
      status: (['delivered', 'delivered', 'dead', 'pending'] as const)[i % 4],
      ...(i % 4 === 3 && { dueAt: new Date(Date.now() + HOUR_MS) }),
    }));
    await app.database.collection('deliveries').insertMany(documents);
    const due = newDelivery();
    await queue.add([...newDeliveries(9), due]);
    const plans = await plansOf(app, 'deliveries', async () => {
      await claimOldest(queue, 5);
      await queue.dueOf(due.subscription, 5);
    });
    expect(plans).not.toEqual([]);
    for (const { keysExamined, documentsExamined } of plans) {
      expect(keysExamined).toBeLessThan(30);
      expect(documentsExamined).toBeLessThan(30);
    }
  });

  it('does not count a delivery as known if the database cannot be reached', async () => {
    const deliveries = newDeliveries(2);
    await app.proxy.turn('refuse');
    await expect(queue.add(deliveries)).rejects.toThrow();
    await app.proxy.turn('pass');
    await eventually(() => queue.add(deliveries));
    const events = (await storedDeliveries(app)).map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(deliveries.map(({ event }) => event)));
  });

  it('keeps a delivery for 30 days', async () => {
    const index = { key: { createdAt: 1 }, expireAfterSeconds: 30 * 24 * 60 * 60 };
    expect(await deliveriesOf(app).indexes()).toContainEqual(expect.objectContaining(index));
  });
});
