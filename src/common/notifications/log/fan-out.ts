import { Injectable, Logger } from '@nestjs/common';
import { InjectModel, type ModelDefinition } from '@nestjs/mongoose';
import { Model, mongo, Schema, Types } from 'mongoose';
import {
  CRUD_CONNECTION,
  Database,
  OPERATION_LIMITS,
  pause,
  reserveCollection,
} from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import { DeliveryQueue } from '../deliveries/delivery-queue.js';
import { isWanted } from '../event-types.js';
import { Receivers, type Subscriber } from '../subscriptions/receivers.js';
import { EventLog, type EventRecord } from './event-log.js';

/** How long a process may take for a turn before another one takes it, too. Unit: milliseconds. */
const LEASE_MS = 15_000;

/** How soon a tenant gets its next turn if none of its deliveries could be made. Unit: milliseconds. */
const BLOCKED_MS = 1_000;

/** How far the deliveries of a tenant's events have been made. */
export interface DeliveryCursor {
  /** Tenant: 24 hexadecimal digits. */
  readonly _id: string;

  /** Position of its newest recorded event. */
  readonly head: number;

  /** Position up to which deliveries are made, for all subscriptions that are not behind. */
  readonly seq: number;

  /** Lower positions of subscriptions whose deliveries could not all be made, by identifier. */
  readonly behind?: Behind;

  /** Whether deliveries may be missing. */
  readonly open?: boolean;

  /** When its next turn begins, at the earliest: the longest-waiting tenant comes first. */
  readonly turnAt: Date;
}

type Behind = Readonly<Record<string, number>>;

const OPEN = { partialFilterExpression: { open: true } };

export const CURSOR_MODEL: ModelDefinition = {
  name: 'DeliveryCursor',
  collection: 'delivery_cursors',
  schema: reserveCollection(
    new Schema({ _id: String }, { versionKey: false, strict: false }).index({ open: 1, turnAt: 1 }, OPEN),
  ),
};

/** Maximum number of events that a tenant's turn makes deliveries of. */
const MAX_EVENTS = 10;

/** Number of due deliveries of a tenant, shared by its subscriptions, from which on it is not given more. */
const MAX_DUE = 1_000;

/** Maximum number of tenants that have their turn in this process at a time. */
const MAX_TURNS = 8;

/** How often to look for the events of other processes, and for tenants that were blocked. Unit: milliseconds. */
const POLL_MS = 1_000;

/**
 * Makes the deliveries of recorded events: for each subscription a few at a time, when the earlier ones have been attempted,
 * and tenant by tenant in turns, so that no tenant fills the queue or delays others. Every process takes part.
 */
@Injectable()
export class FanOut {
  private readonly logger = new Logger('Notifications');
  private waking = new AbortController();

  constructor(
    @InjectModel(CURSOR_MODEL.name, CRUD_CONNECTION) private readonly model: Model<DeliveryCursor>,
    private readonly log: EventLog,
    private readonly queue: DeliveryQueue,
    private readonly receivers: Receivers,
    private readonly database: Database,
  ) {
    database.inBackground('Making deliveries', (stopping) => this.run(stopping));
  }

  /** Opens the cursors of the tenants of recorded events, so that they are delivered even if this process ends. */
  async announce(events: readonly EventRecord[]): Promise<void> {
    const subscribed = await this.receivers.tenantsAmong(events.map(({ tenant }) => tenant));
    const heads = new Map<string, number>();
    for (const { tenant, seq } of events)
      if (subscribed.has(tenant)) heads.set(tenant, Math.max(seq, heads.get(tenant) ?? 0));
    if (heads.size === 0) return;
    const $setOnInsert = { seq: 0, turnAt: new Date() };
    const updates = [...heads].map(([_id, head]) => {
      const update = { $max: { head }, $set: { open: true }, $setOnInsert };
      return { updateOne: { filter: { _id }, update, upsert: true } };
    });
    await this.database.call(() => this.cursors.bulkWrite(updates, { ...OPERATION_LIMITS, ordered: false }));
    this.waking.abort();
  }

  private async run(stopping: AbortSignal): Promise<void> {
    stopping.addEventListener('abort', () => this.waking.abort());
    while (!stopping.aborted) {
      this.waking = new AbortController();
      const turns: Promise<void>[] = [];
      while (turns.length < MAX_TURNS) {
        const cursor = await this.take();
        if (!cursor) break;
        turns.push(this.turn(cursor));
      }
      await Promise.all(turns);
      // If it was woken meanwhile, the signal is already aborted.
      if (turns.length === 0) await pause(POLL_MS, this.waking.signal);
    }
  }

  /** If it fails, it ends without progress, so that the tenant does not wait until the lease ends. */
  private async turn(cursor: DeliveryCursor): Promise<void> {
    try {
      await this.end(cursor, await this.deliver(cursor));
    } catch (error) {
      this.logger.warn({ ...OUTAGE, error }, 'Deliveries wait to be made; trying again');
      await this.end(cursor).catch(() => undefined);
    }
  }

  /** Makes deliveries of a tenant. @returns the subscriptions that are behind then; undefined if none could be made */
  private async deliver({ _id, head, seq, behind = {} }: DeliveryCursor): Promise<Behind | undefined> {
    const tenant = new Types.ObjectId(_id);
    const subscribers = await this.receivers.enabledOf(tenant);
    const positionOf = (one: Subscriber) => Math.max(behind[String(one._id)] ?? seq, one.since ?? 0);
    const waiting = subscribers.filter((one) => positionOf(one) < head);
    if (waiting.length === 0) return {};
    const due = await this.queue.countDue(waiting.map((one) => one._id));
    const maxDue = Math.ceil(MAX_DUE / subscribers.length);
    const served = waiting.filter((one) => (due.get(String(one._id)) ?? 0) < maxDue);
    if (served.length === 0) return undefined;
    const left = new Map(waiting.map((one) => [String(one._id), positionOf(one)]));
    const deliverAfter = async (after: number) => {
      const group = served.filter((one) => positionOf(one) === after);
      const events = await this.log.outline(_id, { after, upTo: head, limit: MAX_EVENTS });
      const deliveries = events.flatMap(({ _id: event, type }) =>
        group
          .filter((one) => isWanted(type, one.events))
          .map(({ _id: subscription }) => ({ subscription, tenant, event, type })),
      );
      await this.queue.add(deliveries);
      const reached = events[MAX_EVENTS - 1]?.seq ?? head;
      for (const one of group) left.set(String(one._id), reached);
    };
    await Promise.all([...new Set(served.map(positionOf))].map(deliverAfter));
    return Object.fromEntries([...left].filter(([, position]) => position < head));
  }

  /** Begins the turn of the open tenant that has waited longest; null if none may begin. */
  private take(): Promise<DeliveryCursor | null> {
    const now = Date.now();
    const waiting = { open: true, turnAt: { $lte: new Date(now) } };
    const leased = { $set: { turnAt: new Date(now + LEASE_MS) } };
    const options = { ...OPERATION_LIMITS, sort: { turnAt: 1 }, returnDocument: 'after' } as const;
    return this.database.call(() => this.cursors.findOneAndUpdate(waiting, leased, options));
  }

  /**
   * Ends a turn, unless another process has taken it, and closes the cursor if nothing is left.
   *
   * @param behind the subscriptions that are left behind; undefined if nothing could be made
   */
  private async end({ _id, head, turnAt }: DeliveryCursor, behind?: Behind): Promise<void> {
    const next = new Date(Date.now() + (behind ? 0 : BLOCKED_MS));
    const $set = { ...(behind && { seq: head, behind }), turnAt: next };
    const done = { _id, head, seq: head, behind: {}, turnAt: next };
    const updates = [
      { updateOne: { filter: { _id, turnAt }, update: { $set } } },
      { updateOne: { filter: done, update: { $unset: { open: 1 as const } } } },
    ];
    await this.database.call(() => this.cursors.bulkWrite(updates, { ...OPERATION_LIMITS, ordered: true }));
  }

  private get cursors(): mongo.Collection<DeliveryCursor> {
    return this.model.collection as unknown as mongo.Collection<DeliveryCursor>;
  }
}
