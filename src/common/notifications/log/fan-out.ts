import { Injectable, Logger } from '@nestjs/common';
import { InjectConnection, InjectModel, type ModelDefinition } from '@nestjs/mongoose';
import { type Connection, Model, mongo, Schema, Types } from 'mongoose';
import {
  CRUD_CONNECTION,
  Database,
  FROM_PRIMARY,
  OPERATION_LIMITS,
  pause,
  reserveCollection,
} from '../../database/index.js';
import { OUTAGE } from '../../errors/index.js';
import { DeliveryQueue } from '../deliveries/delivery-queue.js';
import { isWanted } from '../event-types.js';
import type { Subscription } from '../subscriptions/subscription.schema.js';
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

export const CURSOR_MODEL: ModelDefinition = {
  name: 'DeliveryCursor',
  collection: 'delivery_cursors',
  schema: reserveCollection(
    new Schema({ _id: String }, { versionKey: false, strict: false }).index(
      { open: 1, turnAt: 1 },
      { partialFilterExpression: { open: true } },
    ),
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

/** The part of a subscription that decides which events it gets. */
type Subscriber = Pick<Subscription, 'events' | 'since'> & { readonly _id: Types.ObjectId };

/**
 * Makes the deliveries of recorded events: for each subscription a few at a time, when the earlier ones have
 * been attempted, and tenant by tenant in turns. So neither many events nor many subscriptions of a tenant
 * fill the queue, or delay others. Every process takes part.
 */
@Injectable()
export class FanOut {
  private readonly logger = new Logger('Notifications');
  private waking = new AbortController();

  constructor(
    @InjectConnection(CRUD_CONNECTION) private readonly connection: Connection,
    @InjectModel(CURSOR_MODEL.name, CRUD_CONNECTION) private readonly model: Model<DeliveryCursor>,
    private readonly log: EventLog,
    private readonly queue: DeliveryQueue,
    private readonly database: Database,
  ) {
    database.inBackground('Making deliveries', (stopping) => this.run(stopping));
  }

  /** Sees to it that recorded events are delivered, even if this process ends. */
  async announce(events: readonly EventRecord[]): Promise<void> {
    const ids = [...new Set(events.map(({ tenant }) => tenant))].map((tenant) => new Types.ObjectId(tenant));
    const subscribed = await this.database.call(() =>
      this.subscriptions.distinct('tenant', { tenant: { $in: ids } }, { ...FROM_PRIMARY }),
    );
    const tenants = new Set(subscribed.map(String));
    const wanted = events.filter(({ tenant }) => tenants.has(tenant));
    if (wanted.length === 0) return;
    await this.open(wanted);
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
    const subscribers = await this.subscribersOf(tenant);
    const positionOf = (one: Subscriber) => Math.max(behind[String(one._id)] ?? seq, one.since ?? 0);
    const waiting = subscribers.filter((one) => positionOf(one) < head);
    const served = await this.withRoom(waiting, Math.ceil(MAX_DUE / subscribers.length));
    if (served.length === 0) return waiting.length > 0 ? undefined : {};
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

  /** Opens the tenants of recorded events. */
  private async open(events: readonly EventRecord[]): Promise<void> {
    const heads = new Map<string, number>();
    for (const { tenant, seq } of events) heads.set(tenant, Math.max(seq, heads.get(tenant) ?? 0));
    const updates = [...heads].map(([_id, head]) => {
      const fresh = { seq: 0, turnAt: new Date() };
      const update = { $max: { head }, $set: { open: true }, $setOnInsert: fresh };
      return { updateOne: { filter: { _id }, update, upsert: true } };
    });
    await this.database.call(() => this.cursors.bulkWrite(updates, { ...OPERATION_LIMITS, ordered: false }));
  }

  /** Begins the turn of the open tenant that has waited longest; undefined if none may begin. */
  private async take(): Promise<DeliveryCursor | undefined> {
    const now = Date.now();
    const waiting = { open: true, turnAt: { $lte: new Date(now) } };
    const leased = { $set: { turnAt: new Date(now + LEASE_MS) } };
    const options = { ...OPERATION_LIMITS, sort: { turnAt: 1 }, returnDocument: 'after' } as const;
    const taken = await this.database.call(() => this.cursors.findOneAndUpdate(waiting, leased, options));
    return taken ?? undefined;
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

  /** Those of the subscriptions that may be given more deliveries. */
  private async withRoom(subscribers: readonly Subscriber[], maxDue: number): Promise<Subscriber[]> {
    if (subscribers.length === 0) return [];
    const due = await this.queue.countDue(subscribers.map(({ _id }) => _id));
    return subscribers.filter(({ _id }) => (due.get(String(_id)) ?? 0) < maxDue);
  }

  /** The enabled subscriptions of a tenant, read each time, so that none registered before an event is left out. */
  private subscribersOf(tenant: Types.ObjectId): Promise<Subscriber[]> {
    const filter = { tenant, enabled: true };
    const options = { ...FROM_PRIMARY, projection: { events: 1, since: 1 } } as const;
    return this.database.call(() => this.subscriptions.find(filter, options).toArray());
  }

  private get subscriptions(): mongo.Collection<Subscriber & { tenant: Types.ObjectId; enabled: boolean }> {
    return this.connection.collection('subscriptions') as never;
  }

  private get cursors(): mongo.Collection<DeliveryCursor> {
    return this.model.collection as unknown as mongo.Collection<DeliveryCursor>;
  }
}
