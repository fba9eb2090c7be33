import { Injectable } from '@nestjs/common';
import { InjectModel, Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { Model, mongo } from 'mongoose';
import { CRUD_CONNECTION, Database, OPERATION_LIMITS } from '../../database/index.js';
import type { EventRecord } from './event-log.js';

/**
 * How long a process may take for a tenant's turn before another one takes it as well. Both then make the
 * same deliveries, which are stored once. Unit: milliseconds.
 */
const LEASE_MS = 15_000;

/** How soon a tenant gets its next turn if none of its deliveries could be made. Unit: milliseconds. */
export const BLOCKED_MS = 1_000;

/** How far the deliveries of a tenant's events have been made. */
@Schema({ versionKey: false })
export class DeliveryCursor {
  /** Tenant: 24 hexadecimal digits. */
  @Prop({ type: String, required: true })
  _id!: string;

  /** Position of its newest recorded event. */
  @Prop({ type: Number, required: true })
  head!: number;

  /** Position up to which deliveries are made, for all subscriptions that are not behind. */
  @Prop({ type: Number, required: true })
  seq!: number;

  /** Lower positions of subscriptions that have many deliveries waiting, by identifier. */
  @Prop({ type: Object })
  behind?: Record<string, number>;

  /** Whether deliveries may be missing. */
  @Prop({ type: Boolean })
  open?: boolean;

  /** When its next turn begins, at the earliest: the longest-waiting tenant comes first. */
  @Prop({ type: Date, required: true })
  turnAt!: Date;
}

export const DeliveryCursorSchema = SchemaFactory.createForClass(DeliveryCursor).index(
  { open: 1, turnAt: 1 },
  { partialFilterExpression: { open: true } },
);

/** What a turn has made: new positions, of all subscriptions but those behind. */
export type Progress = Required<Pick<DeliveryCursor, 'seq' | 'behind'>>;

/** The cursors of all tenants, which any number of processes advance. */
@Injectable()
export class Cursors {
  constructor(
    @InjectModel(DeliveryCursor.name, CRUD_CONNECTION) private readonly model: Model<DeliveryCursor>,
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
   * @param isBlocked whether nothing could be made
   */
  async end(
    { _id, head, seq, turnAt }: DeliveryCursor,
    progress: Progress,
    isBlocked: boolean,
  ): Promise<void> {
    const next = new Date(Date.now() + (isBlocked ? BLOCKED_MS : 0));
    const done = { _id, turnAt, head, seq: head, behind: {} };
    const updates = [
      { updateOne: { filter: { _id, turnAt, seq }, update: { $set: progress } } },
      { updateOne: { filter: done, update: { $unset: { open: 1 as const } } } },
      { updateOne: { filter: { _id, turnAt }, update: { $set: { turnAt: next } } } },
    ];
    await this.database.call(() => this.cursors.bulkWrite(updates, { ...OPERATION_LIMITS, ordered: true }));
  }

  private get cursors(): mongo.Collection<DeliveryCursor> {
    return this.model.collection as unknown as mongo.Collection<DeliveryCursor>;
  }
}
