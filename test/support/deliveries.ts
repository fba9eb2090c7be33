import { randomBytes } from 'node:crypto';
import { Types } from 'mongoose';
import {
  DeliveryQueue,
  type NewDelivery,
  type QueuedDelivery,
} from '../../src/common/notifications/deliveries/delivery-queue.js';
import type { TestApp } from './test-app.js';

/** The queue of a service, for the tests around. */
export function useQueue(app: TestApp): DeliveryQueue {
  const queue = {} as DeliveryQueue;
  beforeAll(() => void Object.setPrototypeOf(queue, app.app.get(DeliveryQueue, { strict: false })));
  return queue;
}

/** A new delivery; of an event, a subscription and a tenant of its own unless others are given. */
export function newDelivery(given: Partial<NewDelivery> = {}): NewDelivery {
  const ids = { subscription: new Types.ObjectId(), tenant: new Types.ObjectId() };
  return { event: eventId(), ...ids, type: 'posts.created', ...given };
}

export const newDeliveries = (length: number, given?: Partial<NewDelivery>): NewDelivery[] =>
  Array.from({ length }, () => newDelivery(given));

export const eventId = () => `evt_${new Types.ObjectId().toHexString()}`;

let lastSeq = 0;

/** An event as the log has it, as far as a worker reads it. */
export const storedEvent = (body = '{}') => ({
  _id: eventId() as never,
  seq: ++lastSeq,
  // Without a time, the next start would remove it as too old.
  at: new Date(),
  body,
});

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

/** Stores subscriptions, without slots; members are replaced or added. */
export async function storeSubscriptions(app: TestApp, ...given: object[]) {
  const stored = given.map((members) => ({
    ...{ _id: new Types.ObjectId(), tenant: new Types.ObjectId(), url: 'http://127.0.0.1:9/' },
    ...{ events: ['posts.created'], enabled: true, secret: newSecret(), since: 0, __v: 0 },
    ...members,
  }));
  await app.database.collection('subscriptions').insertMany(stored);
  return stored;
}

export const deliveriesOf = ({ database }: TestApp) => database.collection<QueuedDelivery>('deliveries');

export const storedDeliveries = (app: TestApp) => deliveriesOf(app).find().sort({ _id: 1 }).toArray();

export async function onlyDelivery(app: TestApp) {
  const [only, ...others] = await storedDeliveries(app);
  if (!only || others.length > 0) throw new Error(`There are ${others.length} others`);
  return only;
}
