import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectModel, type ModelDefinition } from '@nestjs/mongoose';
import { type AnyBulkWriteOperation, Model, mongo, type QueryFilter, type Types } from 'mongoose';
import { Subject } from 'rxjs';
import {
  Batches,
  CRUD_CONNECTION,
  Database,
  DUPLICATE_KEY,
  FROM_PRIMARY,
  OPERATION_LIMITS,
  reserveCollection,
} from '../../database/index.js';
import { schemaOf } from '../../fields/index.js';
import { type Attempt, Delivery } from './delivery.entity.js';

/** How long a delivery is kept. Unit: seconds. */
const RETENTION_S = 30 * 24 * 60 * 60;

/** How long a claim lasts: twice the time of an attempt, since clocks differ. Unit: milliseconds. */
const LEASE_MS = 30_000;

/** Maximum number of attempts to keep per delivery. */
const KEPT_ATTEMPTS = 50;

/** Maximum number of deliveries that one command changes. */
const MAX_BATCH = 1_000;

/** How long to wait after the first, second, and later failed attempts. Unit: seconds. */
const DELAYS_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Maximum random part of a delay, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/** A delivery as the queue stores it. */
export interface QueuedDelivery extends Delivery {
  readonly _id: Types.ObjectId;
  readonly createdAt: Date;
  /** Number of attempts of the schedule so far. */
  readonly tries: number;
  /** When a worker may take it: at its next attempt, or when its lease ends; absent unless it is pending. */
  readonly dueAt?: Date;
  /** Identifies the current claim of a worker; absent if no worker attempts it. */
  readonly lease?: string;
}

/** A delivery to make. */
export type NewDelivery = Pick<QueuedDelivery, 'subscription' | 'tenant' | 'event' | 'type'>;

/** A delivery that a worker may claim. */
export type DueDelivery = Pick<QueuedDelivery, '_id' | 'subscription' | 'tenant'>;

const CLAIMED = ['subscription', 'tenant', 'event', 'type', 'lease', 'dueAt', 'tries'] as const;

/** A delivery that this worker has leased: no other worker attempts it before the lease ends. */
export type ClaimedDelivery = Required<Pick<QueuedDelivery, '_id' | (typeof CLAIMED)[number]>>;

/** Outcome of one attempt. */
export interface AttemptOutcome extends Attempt {
  /** Ends the schedule, as the status 410 does. @default false */
  readonly final?: boolean;
}

/** Finds due deliveries of all subscriptions, oldest first. */
const DUE_INDEX = { status: 1, dueAt: 1, subscription: 1 } as const;

/**
 * Finds the due deliveries of one subscription, in the order in which attempts were planned, so that a
 * delivery whose worker crashed keeps its place. Also counts them, and finds the subscriptions that have any.
 */
const DUE_OF_SUBSCRIPTION_INDEX = { status: 1, subscription: 1, nextAttemptAt: 1, dueAt: 1 } as const;

/** Counts dead deliveries. */
const DEAD_INDEX = { status: 1 } as const;

// Delivered ones, nearly the whole collection, are in none of the indexes that the queue works with.
const PENDING = { partialFilterExpression: { status: 'pending' } };
const DEAD = { partialFilterExpression: { status: 'dead' } };

/** The queue's model has its own name, because the resource has a model of the same collection. */
export const DELIVERY_MODEL: ModelDefinition = {
  name: 'QueuedDelivery',
  collection: 'deliveries',
  schema: reserveCollection(
    schemaOf(Delivery)
      .add({ tries: Number, dueAt: Date, lease: String })
      .index({ event: 1, subscription: 1 }, { unique: true })
      .index({ createdAt: 1 }, { expireAfterSeconds: RETENTION_S })
      .index(DUE_INDEX, PENDING)
      .index(DUE_OF_SUBSCRIPTION_INDEX, PENDING)
      .index(DEAD_INDEX, DEAD),
    Delivery,
  ),
};

/** Increases the revision, which the ETag of a delivery is made from. */
const SEEN = { $inc: { __v: 1 } } as const;

/** The durable queue of deliveries, in the database. Any number of processes add to it and process it. */
@Injectable()
export class DeliveryQueue {
  /** Emits whenever this process has added deliveries, or made one due again. */
  readonly added = new Subject<void>();
  private readonly changes = new Batches<AnyBulkWriteOperation<QueuedDelivery>, void>(
    async (changes) => {
      const options = { ...OPERATION_LIMITS, ordered: false };
      await this.database.call(() => this.deliveries.collection.bulkWrite([...changes] as never, options));
      return [];
    },
    { max: MAX_BATCH },
  );

  constructor(
    @InjectModel(DELIVERY_MODEL.name, CRUD_CONNECTION) private readonly deliveries: Model<QueuedDelivery>,
    private readonly database: Database,
  ) {}

  /** Adds deliveries that are due at once. One that exists, by event and subscription, is not changed. */
  async add(deliveries: readonly NewDelivery[]): Promise<void> {
    if (deliveries.length === 0) return;
    const now = new Date();
    const fresh = { status: 'pending' as const, nextAttemptAt: now, dueAt: now, tries: 0, createdAt: now };
    const documents = deliveries.map((delivery) => ({ ...delivery, ...fresh, attempts: [] }));
    const options = { ...OPERATION_LIMITS, ordered: false };
    await this.database.call(() =>
      this.deliveries.collection.insertMany(documents, options).catch(ignoreDuplicates),
    );
    this.added.next();
  }

  /** Reads the deliveries that have become due since a time, oldest first, except for some subscriptions. */
  due(since: Date, except: readonly Types.ObjectId[] = []): AsyncGenerator<DueDelivery> {
    const dueAt = { $gte: since, $lte: new Date() };
    return this.database.iterate(() => this.oldest(dueAt, except).batchSize(250).cursor());
  }

  /** Reads a subscription's longest-waiting due deliveries, including those that a crashed worker had claimed. */
  dueOf(subscription: Types.ObjectId, limit: number): Promise<DueDelivery[]> {
    const past = { $lte: new Date() };
    return this.database.call(() =>
      this.find({ status: 'pending', subscription, nextAttemptAt: past, dueAt: past })
        .sort({ nextAttemptAt: 1 })
        .hint(DUE_OF_SUBSCRIPTION_INDEX)
        .limit(limit),
    );
  }

  /** The subscriptions that have due deliveries, or some in flight; costs as much as there are subscriptions. */
  subscriptionsWithDue(): Promise<Types.ObjectId[]> {
    const due = { status: 'pending', nextAttemptAt: { $lte: new Date() } } as const;
    return this.database.call(() => this.deliveries.distinct('subscription', due, { ...FROM_PRIMARY }));
  }

  /** The number of due deliveries of each of the subscriptions that has any, in flight or not. */
  async countDue(subscriptions: readonly Types.ObjectId[]): Promise<Map<string, number>> {
    const due = { subscription: { $in: [...subscriptions] }, nextAttemptAt: { $lte: new Date() } };
    const counts = await this.database.call(() =>
      this.deliveries
        .aggregate<{ _id: Types.ObjectId; count: number }>([
          { $match: { status: 'pending', ...due } },
          { $group: { _id: '$subscription', count: { $sum: 1 } } },
        ])
        .option({ ...FROM_PRIMARY, hint: DUE_OF_SUBSCRIPTION_INDEX }),
    );
    return new Map(counts.map(({ _id, count }) => [String(_id), count]));
  }

  /** Leases those of the deliveries that are still due. */
  async claim(due: readonly DueDelivery[]): Promise<ClaimedDelivery[]> {
    if (due.length === 0) return [];
    const _id = { $in: due.map((delivery) => delivery._id) };
    const [lease, now] = [randomUUID(), Date.now()];
    const claimed = { lease, dueAt: new Date(now + LEASE_MS) };
    const stillDue = { _id, status: 'pending', dueAt: { $lte: new Date(now) } } as const;
    const options = { ...OPERATION_LIMITS };
    await this.database.call(() => this.deliveries.updateMany(stillDue, { $set: claimed }, options));
    const own = this.deliveries.find({ _id, lease }, null, { ...FROM_PRIMARY }).select([...CLAIMED]);
    return this.database.call(() => own.lean<ClaimedDelivery[]>());
  }

  /** Stores the outcome of an attempt, and plans the next one or ends the delivery, unless the claim was lost. */
  finish(claimed: ClaimedDelivery, { final = false, ...attempt }: AttemptOutcome): Promise<void> {
    const tries = claimed.tries + 1;
    const $push = { attempts: { $each: [attempt], $slice: -KEPT_ATTEMPTS } };
    const delay = attempt.error === undefined || final ? undefined : retryDelayMs(tries);
    if (delay === undefined) {
      const status = attempt.error === undefined ? 'delivered' : 'dead';
      const $unset = { lease: 1, dueAt: 1, nextAttemptAt: 1 };
      return this.change(claimed, { ...SEEN, $push, $set: { status, tries }, $unset });
    }
    const next = new Date(Date.now() + delay);
    const $set = { nextAttemptAt: next, dueAt: next, tries };
    return this.change(claimed, { ...SEEN, $push, $set, $unset: { lease: 1 } });
  }

  /** Returns a delivery to the queue without an attempt: another worker may take it at once. */
  release(claimed: ClaimedDelivery): Promise<void> {
    return this.change(claimed, { $set: { dueAt: new Date() }, $unset: { lease: 1 } });
  }

  /** Removes a delivery whose subscription no longer exists. */
  remove({ _id, lease }: ClaimedDelivery): Promise<void> {
    return this.changes.add({ deleteOne: { filter: { _id, lease } } });
  }

  /** Removes the deliveries of a deleted subscription, however many there are. */
  removeAllOf(subscription: Types.ObjectId): void {
    this.database.inBackground('Removing the deliveries of a deleted subscription', async () => {
      await this.deliveries.deleteMany({ subscription }).exec();
    });
  }

  /** Makes a delivery due now and restarts its schedule; returns false if it is delivered, in flight or not there. */
  async retry(subscription: Types.ObjectId, _id: Types.ObjectId): Promise<boolean> {
    const now = new Date();
    // What is planned or dead has no lease.
    const atRest = {
      status: { $ne: 'delivered' as const },
      $or: [{ lease: null }, { dueAt: { $lte: now } }],
    };
    const $set = { status: 'pending', nextAttemptAt: now, dueAt: now, tries: 0 } as const;
    const change = { ...SEEN, $set, $unset: { lease: 1 as const } };
    const { matchedCount } = await this.database.call(() =>
      this.deliveries.updateOne({ _id, subscription, ...atRest }, change, { ...OPERATION_LIMITS }),
    );
    if (matchedCount > 0) this.added.next();
    return matchedCount > 0;
  }

  /**
   * Metrics for the operator: numbers of deliveries that are or will be due, that a worker has leased, and that are dead,
   * and the age of the oldest due one, or 0. Unit: seconds.
   */
  async stats() {
    const now = new Date();
    // A lease is short, so few other deliveries are planned before its end.
    const leased = { $gt: now, $lte: new Date(now.getTime() + 2 * LEASE_MS) };
    const [pending, inFlight, dead, [oldest]] = await Promise.all([
      this.count({ status: 'pending' }, DUE_INDEX),
      this.count({ status: 'pending', dueAt: leased, lease: { $gt: '' } }, DUE_INDEX),
      this.count({ status: 'dead' }, DEAD_INDEX),
      this.database.call(() => this.oldest({ $lte: now }).limit(1)),
    ]);
    const oldestDueSeconds = oldest ? (now.getTime() - oldest.dueAt.getTime()) / 1_000 : 0;
    return { waiting: pending - inFlight, inFlight, dead, oldestDueSeconds };
  }

  private oldest(dueAt: { $gte?: Date; $lte: Date }, except: readonly Types.ObjectId[] = []) {
    const filter = { status: 'pending', dueAt, subscription: { $nin: except } } as const;
    return this.find(filter).sort({ dueAt: 1 }).hint(DUE_INDEX);
  }

  private find(filter: QueryFilter<QueuedDelivery>) {
    return this.deliveries
      .find(filter, { subscription: 1, tenant: 1, dueAt: 1 }, { ...FROM_PRIMARY })
      .lean<(DueDelivery & { dueAt: Date })[]>();
  }

  private count(filter: QueryFilter<QueuedDelivery>, hint: Record<string, 1>): Promise<number> {
    const options = { ...OPERATION_LIMITS, hint };
    return this.database.call(() => this.deliveries.countDocuments(filter, options));
  }

  private change({ _id, lease }: ClaimedDelivery, update: object): Promise<void> {
    return this.changes.add({ updateOne: { filter: { _id, lease }, update } });
  }
}

/** How long to wait after so many failed attempts; undefined after the last one. Unit: milliseconds. */
export function retryDelayMs(failed: number, random = Math.random()): number | undefined {
  const delay = DELAYS_S[failed - 1];
  return delay === undefined ? undefined : delay * 1_000 * (1 + JITTER * random);
}

function ignoreDuplicates(error: unknown): void {
  if (!(error instanceof mongo.MongoBulkWriteError)) throw error;
  const rejected = [error.writeErrors].flat();
  // The driver also wraps an error of the whole command: then none was rejected, and none may be stored.
  const areKnown = rejected.length > 0 && rejected.every(({ code }) => code === DUPLICATE_KEY);
  if (!areKnown || error.result.getWriteConcernError()) throw error;
}
