import { type mongo, Types } from 'mongoose';
import type { QueuedDelivery } from '../../src/common/notifications/deliveries/delivery.entity.js';
import {
  type ClaimedDelivery,
  type DeliveryQueue,
  type NewDelivery,
} from '../../src/common/notifications/deliveries/delivery-queue.js';
import type { TestApp } from './test-app.js';

/** A new delivery; of an event, a subscription and a tenant of its own unless others are given. */
export function newDelivery(given: Partial<NewDelivery> = {}): NewDelivery {
  return {
    event: eventId(),
    subscription: new Types.ObjectId(),
    tenant: new Types.ObjectId(),
    type: 'posts.created',
    ...given,
  };
}

export function eventId(): string {
  return `evt_${new Types.ObjectId().toHexString()}`;
}

let lastSeq = 0;

/** An event as the log has it, as far as a worker reads it. */
export function storedEvent(body = '{}') {
  return { _id: eventId() as never, seq: ++lastSeq, body };
}

/** Claims up to a number of deliveries, the oldest first. */
export async function claimOldest(queue: DeliveryQueue, limit = 1_000): Promise<ClaimedDelivery[]> {
  const due = [];
  for await (const delivery of queue.due(new Date(0))) {
    due.push(delivery);
    if (due.length === limit) break;
  }
  return queue.claim(due);
}

/** The deliveries as they are stored. */
export function storedDeliveries(app: TestApp): Promise<mongo.WithId<QueuedDelivery>[]> {
  return app.database.collection<QueuedDelivery>('deliveries').find().sort({ _id: 1 }).toArray();
}
