/** @mongodb */
import { QueueModule } from '../../../src/common/notifications/notifications.module.js';
import {
  type ClaimedDelivery,
  DeliveryQueue,
} from '../../../src/common/notifications/deliveries/delivery-queue.js';
import { claimOldest, newDelivery } from '../../support/deliveries.js';
import { plansOf } from '../../support/query-plans.js';
import { useResourceApp } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';

const HOUR = 3_600_000;

/** What the queue of deliveries asks of the database. */
describe('the queue of deliveries', () => {
  let queue: DeliveryQueue;
  const app = useResourceApp(QueueModule);
  beforeAll(() => void (queue = app.app.get(DeliveryQueue, { strict: false })));
  beforeEach(() => app.empty());

  it('needs three commands to claim a batch, and one for simultaneous outcomes', async () => {
    await queue.add(Array.from({ length: 100 }, () => newDelivery()));
    let claimed: ClaimedDelivery[] = [];
    const names = (commands: { name: string }[]) => commands.map(({ name }) => name);
    const toClaim = await commandsOf(app, async () => (claimed = await claimOldest(queue, 100)));
    expect(names(toClaim)).toEqual(['find deliveries', 'update deliveries', 'find deliveries']);
    const toFinish = await commandsOf(app, () =>
      Promise.all(claimed.map((one) => queue.finish(one, { at: new Date(), status: 200 }))),
    );
    expect(names(toFinish)).toEqual(['update deliveries']);
  });

  it('needs one command to add the deliveries of an event', async () => {
    const deliveries = Array.from({ length: 20 }, () => newDelivery());
    const sent = await commandsOf(app, () => queue.add(deliveries));
    expect(sent.map(({ name }) => name)).toEqual(['insert deliveries']);
  });

  it('reads no more than it returns, however many are delivered, dead or planned', async () => {
    const documents = Array.from({ length: 3_000 }, (_, i) => ({
      ...newDelivery(),
      status: (['delivered', 'delivered', 'dead', 'pending'] as const)[i % 4],
      ...(i % 4 === 3 && { dueAt: new Date(Date.now() + HOUR) }),
    }));
    await app.database.collection('deliveries').insertMany(documents);
    const due = Array.from({ length: 10 }, () => newDelivery());
    await queue.add(due);
    const plans = await plansOf(app, 'deliveries', async () => {
      await claimOldest(queue, 5);
      await queue.dueOf(due[9]?.subscription ?? newDelivery().subscription, 5);
    });
    for (const { keysExamined, documentsExamined } of plans) {
      expect(keysExamined).toBeLessThan(30);
      expect(documentsExamined).toBeLessThan(30);
    }
  });
});
