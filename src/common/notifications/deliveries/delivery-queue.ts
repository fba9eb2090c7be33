import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { type AnyBulkWriteOperation, Model, mongo, type QueryFilter, type Types } from 'mongoose';
import { Subject } from 'rxjs';
import {
  Batches,
  CRUD_CONNECTION,
  Database,
  DUPLICATE_KEY,
  FROM_PRIMARY,
  OPERATION_LIMITS,
} from '../../database/index.js';
import {
  type Attempt,
  DEAD_INDEX,
  DELIVERY_MODEL,
  DUE_INDEX,
  DUE_OF_SUBSCRIPTION_INDEX,
  type QueuedDelivery,
  retryDelayMs,
} from './delivery.entity.js';

/** How long a claim lasts: twice the time of an attempt, since clocks differ. Unit: milliseconds. */
export const LEASE_MS = 30_000;

/** Maximum number of attempts to keep per delivery. */
const KEPT_ATTEMPTS = 50;

/** Increases the revision, which the ETag of a delivery is made from. */
const SEEN = { $inc: { __v: 1 } } as const;

/** Maximum number of deliveries that one command changes. */
const MAX_BATCH = 1_000;

/** A delivery to make. */
export type NewDelivery = Pick<QueuedDelivery, 'subscription' | 'tenant' | 'event' | 'type'>;

/** A delivery that a worker may claim. */
export interface DueDelivery extends Pick<NewDelivery, 'subscription' | 'tenant'> {
  readonly _id: Types.ObjectId;
}

/** A delivery that this worker has leased: no other worker attempts it before the lease ends. */
export interface ClaimedDelivery extends NewDelivery {
  readonly _id: Types.ObjectId;
  readonly lease: string;
  /** End of the lease. */
  readonly dueAt: Date;
  /** Number of attempts of the schedule before this one. */
  readonly tries: number;
}

/** The fields of a {@link ClaimedDelivery}. */
const CLAIMED = { subscription: 1, tenant: 1, event: 1, type: 1, lease: 1, dueAt: 1, tries: 1 } as const;

/** Outcome of one attempt. */
export interface AttemptOutcome extends Attempt {
  /** Ends the schedule, as the status 410 does. @default false */
  readonly final?: boolean;
}

/** Metrics for the operator. */
export interface QueueStats {
  /** Number of deliveries that are or will be due. */
  readonly waiting: number;
  /** Number of deliveries that a worker has leased. */
  readonly inFlight: number;
  readonly dead: number;
  /** Age of the oldest due delivery; 0 if there is none. Unit: seconds. */
  readonly oldestDueSeconds: number;
}

/** The durable queue of deliveries, in the database. Any number of processes add to it and process it. */
@Injectable()
export class DeliveryQueue {
  /** Emits whenever this process has added deliveries, or made one due again. */
  readonly added = new Subject<void>();
  private readonly changing = new Batches<AnyBulkWriteOperation<QueuedDelivery>, unknown>(
    (changes) => this.write(changes),
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
    await this.database.call(() =>
      this.deliveries.collection
        .insertMany(documents, { ...OPERATION_LIMITS, ordered: false })
        .catch(ignoreDuplicates),
    );
    this.added.next();
  }

  /** Reads the deliveries that have become due since a time, oldest first, except for some subscriptions. */
  due(since: Date, except: readonly Types.ObjectId[] = []): AsyncGenerator<DueDelivery> {
    const dueAt = { $gte: since, $lte: new Date() };
    return this.database.iterate(() =>
      this.find({ status: 'pending', dueAt, subscription: { $nin: except } })
        .sort({ dueAt: 1 })
        .hint(DUE_INDEX)
        .batchSize(250)
        .cursor(),
    );
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
    await this.database.call(() =>
      this.deliveries.updateMany(stillDue, { $set: claimed }, { ...OPERATION_LIMITS }),
    );
    return this.database.call(() =>
      this.deliveries.find({ _id, lease }, CLAIMED, { ...FROM_PRIMARY }).lean<ClaimedDelivery[]>(),
    );
  }

  /** Stores the outcome of an attempt, and plans the next one or ends the delivery, unless the claim was lost. */
  async finish(
    { _id, lease, tries }: ClaimedDelivery,
    { final = false, ...attempt }: AttemptOutcome,
  ): Promise<void> {
    const delay = attempt.error === undefined || final ? undefined : retryDelayMs(tries + 1);
    const $push = { attempts: { $each: [attempt], $slice: -KEPT_ATTEMPTS } };
    if (delay !== undefined) {
      const next = new Date(Date.now() + delay);
      const $set = { nextAttemptAt: next, dueAt: next, tries: tries + 1 };
      return this.change({ _id, lease }, { ...SEEN, $push, $set, $unset: { lease: 1 } });
    }
    const status = attempt.error === undefined ? 'delivered' : 'dead';
    const $unset = { lease: 1, dueAt: 1, nextAttemptAt: 1 };
    await this.change({ _id, lease }, { ...SEEN, $push, $set: { status, tries: tries + 1 }, $unset });
  }

  /** Returns a delivery to the queue without an attempt: another worker may take it at once. */
  release({ _id, lease }: ClaimedDelivery): Promise<void> {
    return this.change({ _id, lease }, { $set: { dueAt: new Date() }, $unset: { lease: 1 } });
  }

  /** Removes a delivery whose subscription no longer exists. */
  async remove({ _id, lease }: ClaimedDelivery): Promise<void> {
    await this.changing.add({ deleteOne: { filter: { _id, lease } } });
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
    const atRest: QueryFilter<QueuedDelivery>[] = [
      { status: 'dead' },
      { status: 'pending', lease: null },
      { status: 'pending', dueAt: { $lte: now } },
    ];
    const $set = { status: 'pending', nextAttemptAt: now, dueAt: now, tries: 0 } as const;
    const change = { ...SEEN, $set, $unset: { lease: 1 as const } };
    const { matchedCount } = await this.database.call(() =>
      this.deliveries.updateOne({ _id, subscription, $or: atRest }, change, { ...OPERATION_LIMITS }),
    );
    if (matchedCount > 0) this.added.next();
    return matchedCount > 0;
  }

  async stats(): Promise<QueueStats> {
    const now = new Date();
    // A lease is short, so few other deliveries are planned before its end.
    const leased = { $gt: now, $lte: new Date(now.getTime() + 2 * LEASE_MS) };
    const [pending, inFlight, dead, oldest] = await Promise.all([
      this.count({ status: 'pending' }, DUE_INDEX),
      this.count({ status: 'pending', dueAt: leased, lease: { $gt: '' } }, DUE_INDEX),
      this.count({ status: 'dead' }, DEAD_INDEX),
      this.database.call(() =>
        this.find({ status: 'pending', dueAt: { $lte: now } })
          .sort({ dueAt: 1 })
          .hint(DUE_INDEX)
          .limit(1),
      ),
    ]);
    const since = oldest[0]?.dueAt ?? now;
    return {
      waiting: pending - inFlight,
      inFlight,
      dead,
      oldestDueSeconds: (now.getTime() - since.getTime()) / 1_000,
    };
  }

  private find(filter: QueryFilter<QueuedDelivery>) {
    return this.deliveries
      .find(filter, { subscription: 1, tenant: 1, dueAt: 1 }, { ...FROM_PRIMARY })
      .lean<(DueDelivery & { dueAt: Date })[]>();
  }

  private count(filter: QueryFilter<QueuedDelivery>, hint: Record<string, 1>): Promise<number> {
    return this.database.call(() =>
      this.deliveries.countDocuments(filter, { ...OPERATION_LIMITS }).hint(hint),
    );
  }

  private async change(filter: QueryFilter<QueuedDelivery>, update: object): Promise<void> {
    await this.changing.add({ updateOne: { filter, update } });
  }

  private async write(changes: readonly AnyBulkWriteOperation<QueuedDelivery>[]): Promise<unknown[]> {
    await this.database.call(() =>
      this.deliveries.collection.bulkWrite([...changes] as never, { ...OPERATION_LIMITS, ordered: false }),
    );
    return [];
  }
}

function ignoreDuplicates(error: unknown): void {
  if (!(error instanceof mongo.MongoBulkWriteError)) throw error;
  const rejected = [error.writeErrors].flat();
  // The driver also wraps an error of the whole command: then none was rejected, and none may be stored.
  const areKnown = rejected.length > 0 && rejected.every(({ code }) => code === DUPLICATE_KEY);
  if (!areKnown || error.result.getWriteConcernError()) throw error;
}
