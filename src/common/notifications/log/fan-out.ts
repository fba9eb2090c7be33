import { Injectable, Logger } from '@nestjs/common';
import { InjectConnection, InjectModel, type ModelDefinition } from '@nestjs/mongoose';
import { type Connection, Model, mongo, Schema, Types } from 'mongoose';
import {
  CRUD_CONNECTION,
  Database,
  OPERATION_LIMITS,
  pause,
  reserveCollection,
} from '../../database/index.js';
import { DeliveryQueue } from '../deliveries/delivery-queue.js';
import { isWanted } from '../event-types.js';
import type { Subscription } from '../subscriptions/subscription.schema.js';
import { EventLog, type EventOutline, type EventRecord } from './event-log.js';

/**
 * How long a process may take for a tenant's turn before another one takes it as well. Both then make the
 * same deliveries, which are stored once. Unit: milliseconds.
 */
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

  /** Lower positions of subscriptions that have many deliveries waiting, by identifier. */
  readonly behind?: Record<string, number>;

  /** Whether deliveries may be missing. */
  readonly open?: boolean;

  /** When its next turn begins, at the earliest: the longest-waiting tenant comes first. */
  readonly turnAt: Date;
}

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

/** What a turn has made: new positions, of all subscriptions but those behind. */
type Progress = Required<Pick<DeliveryCursor, 'seq' | 'behind'>>;

/** The cursors of all tenants, which any number of processes advance. */
@Injectable()
export class Cursors {
  constructor(
    @InjectModel(CURSOR_MODEL.name, CRUD_CONNECTION) private readonly model: Model<DeliveryCursor>,
    private readonly database: Database,
  ) {}

  /**
   * Opens the tenants of recorded events. A cursor that is past one of them goes back: another process may
   * have read the log before the event was in it, and what is made again is stored once.
   */
  async open(events: readonly EventRecord[]): Promise<void> {
    const positions = new Map<string, number[]>();
    for (const { tenant, seq } of events) positions.set(tenant, [...(positions.get(tenant) ?? []), seq]);
    const updates = [...positions].map(([_id, seqs]) => {
      const update = {
        $max: { head: Math.max(...seqs) },
        $min: { seq: Math.min(...seqs) - 1 },
        $set: { open: true },
        $setOnInsert: { turnAt: new Date() },
      };
      return { updateOne: { filter: { _id }, update, upsert: true } };
    });
    await this.database.call(() => this.cursors.bulkWrite(updates, { ...OPERATION_LIMITS, ordered: false }));
  }

  /** Begins the turn of the open tenant that has waited longest; undefined if none may begin. */
  async take(): Promise<DeliveryCursor | undefined> {
    const now = Date.now();
    const waiting = { open: true, turnAt: { $lte: new Date(now) } };
    const leased = { $set: { turnAt: new Date(now + LEASE_MS) } };
    const options = { ...OPERATION_LIMITS, sort: { turnAt: 1 }, returnDocument: 'after' } as const;
    const taken = await this.database.call(() => this.cursors.findOneAndUpdate(waiting, leased, options));
    return taken ?? undefined;
  }

  /**
   * Ends a turn. Its progress does not count if the cursor has gone back, or was taken by another process,
   * in the meantime.
   *
   * @param progress undefined if nothing could be made
   */
  async end({ _id, head, seq, turnAt }: DeliveryCursor, progress?: Progress): Promise<void> {
    const next = new Date(Date.now() + (progress ? 0 : BLOCKED_MS));
    const done = { _id, turnAt, head, seq: head, behind: {} };
    const updates = [
      ...(progress ? [{ updateOne: { filter: { _id, turnAt, seq }, update: { $set: progress } } }] : []),
      { updateOne: { filter: done, update: { $unset: { open: 1 as const } } } },
      { updateOne: { filter: { _id, turnAt }, update: { $set: { turnAt: next } } } },
    ];
    await this.database.call(() => this.cursors.bulkWrite(updates, { ...OPERATION_LIMITS, ordered: true }));
  }

  private get cursors(): mongo.Collection<DeliveryCursor> {
    return this.model.collection as unknown as mongo.Collection<DeliveryCursor>;
  }
}

/** Maximum number of deliveries that a tenant's turn makes, unless it has more subscriptions. */
const MAX_PER_TURN = 1_000;

/** Number of due deliveries from which on a subscription is not given more, and so for all of a tenant together. */
const MAX_DUE = 100;
const MAX_DUE_OF_TENANT = 1_000;

/** Maximum number of tenants that have their turn in this process at a time. */
const MAX_TURNS = 8;

/** How often to look for the events of other processes. Unit: milliseconds. */
const POLL_MS = 2_000;

/** A secondary may not have a new subscription yet. */
const FROM_PRIMARY = { ...OPERATION_LIMITS, readPreference: 'primary' } as const;

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
  private readonly running = new Set<Promise<void>>();
  private waking = new AbortController();
  private isFailing = false;

  constructor(
    @InjectConnection(CRUD_CONNECTION) private readonly connection: Connection,
    private readonly log: EventLog,
    private readonly cursors: Cursors,
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
    await this.cursors.open(wanted);
    this.waking.abort();
  }

  private async run(stopping: AbortSignal): Promise<void> {
    stopping.addEventListener('abort', () => this.waking.abort());
    while (!stopping.aborted) {
      this.waking = new AbortController();
      const cursor = await this.cursors.take().catch((error: unknown) => this.warn(error));
      if (cursor) await this.begin(cursor);
      // If it was woken meanwhile, the signal is already aborted.
      else await pause(POLL_MS, this.waking.signal);
    }
    await Promise.all(this.running);
  }

  /** Begins a turn; resolves as soon as another one may begin. */
  private async begin(cursor: DeliveryCursor): Promise<void> {
    const turn = this.turn(cursor)
      .catch((error: unknown) => this.giveUp(cursor, error))
      .finally(() => {
        this.running.delete(turn);
        this.waking.abort();
      });
    this.running.add(turn);
    if (this.running.size >= MAX_TURNS) await Promise.race(this.running);
  }

  private async turn(cursor: DeliveryCursor): Promise<void> {
    const { _id: tenant, head, seq, behind = {} } = cursor;
    const subscribers = await this.subscribersOf(tenant);
    const positions = new Map(subscribers.map(({ _id }) => [_id, Math.min(behind[String(_id)] ?? seq, seq)]));
    const waiting = subscribers.filter(({ _id }) => (positions.get(_id) ?? head) < head);
    const maxDue = Math.min(MAX_DUE, Math.ceil(MAX_DUE_OF_TENANT / subscribers.length));
    const served = await this.withRoom(waiting, maxDue);
    if (waiting.length > 0 && served.length === 0) return this.end(cursor);
    const limit = Math.min(maxDue, Math.max(1, Math.floor(MAX_PER_TURN / served.length)));
    const deliverAfter = async (after: number) => {
      const group = served.filter(({ _id }) => positions.get(_id) === after);
      const events = await this.log.outline(tenant, { after, upTo: head, limit });
      await this.deliver(new Types.ObjectId(tenant), events, group);
      const reached = events.length < limit ? head : Math.max(...events.map((event) => event.seq));
      return group.map(({ _id }) => [_id, reached] as const);
    };
    const starts = new Set(served.map(({ _id }) => positions.get(_id) ?? head));
    const moved = await Promise.all([...starts].map(deliverAfter));
    for (const [id, reached] of moved.flat()) positions.set(id, reached);
    const newSeq = subscribers.length > 0 ? Math.max(...positions.values()) : head;
    const left = [...positions].filter(([, position]) => position < newSeq);
    await this.end(cursor, { seq: newSeq, behind: Object.fromEntries(left) });
  }

  /** Ends a turn without progress, so that the tenant does not wait until the lease ends. */
  private async giveUp(cursor: DeliveryCursor, error: unknown): Promise<void> {
    this.warn(error);
    await this.end(cursor).catch((failure: unknown) => this.warn(failure));
  }

  private async end(cursor: DeliveryCursor, progress?: Progress): Promise<void> {
    await this.cursors.end(cursor, progress);
    if (progress) this.isFailing = false;
    else setTimeout(() => this.waking.abort(), BLOCKED_MS).unref();
  }

  private async deliver(
    tenant: Types.ObjectId,
    events: readonly EventOutline[],
    group: readonly Subscriber[],
  ): Promise<void> {
    const deliveries = events.flatMap(({ _id: event, seq, type }) =>
      group
        .filter((one) => isWanted(type, one.events) && seq > (one.since ?? 0))
        .map(({ _id: subscription }) => ({ subscription, tenant, event, type })),
    );
    await this.queue.add(deliveries);
  }

  /** Those of the subscriptions that may be given more deliveries. */
  private async withRoom(subscribers: readonly Subscriber[], maxDue: number): Promise<Subscriber[]> {
    if (subscribers.length === 0) return [];
    const due = await this.queue.countDue(subscribers.map(({ _id }) => _id));
    return subscribers.filter(({ _id }) => (due.get(String(_id)) ?? 0) < maxDue);
  }

  /** The enabled subscriptions of a tenant, read each time, so that none registered before an event is left out. */
  private subscribersOf(tenant: string): Promise<Subscriber[]> {
    const filter = { tenant: new Types.ObjectId(tenant), enabled: true };
    const options = { ...FROM_PRIMARY, projection: { events: 1, since: 1 } } as const;
    return this.database.call(() => this.subscriptions.find(filter, options).toArray());
  }

  private get subscriptions(): mongo.Collection<Subscriber & { tenant: Types.ObjectId; enabled: boolean }> {
    return this.connection.collection('subscriptions') as never;
  }

  /** Logged once, however long the database is away. */
  private warn(error: unknown): undefined {
    if (!this.isFailing) this.logger.warn({ error }, 'Deliveries wait to be made; trying again');
    this.isFailing = true;
  }
}
