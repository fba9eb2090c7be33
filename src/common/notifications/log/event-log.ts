import { Injectable } from '@nestjs/common';
import { InjectModel, type ModelDefinition } from '@nestjs/mongoose';
import { Model, mongo, Schema } from 'mongoose';
import { Subject } from 'rxjs';
import {
  CRUD_CONNECTION,
  Database,
  DUPLICATE_KEY,
  FROM_PRIMARY,
  OPERATION_LIMITS,
  reserveCollection,
} from '../../database/index.js';

/** An event as subscribers get it. Stored once, in the log, so that every delivery and stream has the same bytes. */
export interface EventRecord {
  /** `evt_` and 24 hexadecimal digits. */
  readonly _id: string;

  /** Position in the log: without gaps, and in the order in which events become visible. */
  readonly seq: number;

  /** Tenant whose subscribers get the event: 24 hexadecimal digits. */
  readonly tenant: string;

  /** Type, such as `posts.created`. */
  readonly type: string;

  readonly at: Date;

  /** The JSON text of `{ type, timestamp, data }`. */
  readonly body: string;
}

export const EVENT_MODEL: ModelDefinition = {
  name: 'EventRecord',
  collection: 'events',
  schema: reserveCollection(
    new Schema({ _id: String }, { versionKey: false, strict: false })
      .index({ seq: 1 }, { unique: true })
      .index({ tenant: 1, seq: 1 }),
  ),
};

/** An event that the log has not numbered yet. */
export type NewEvent = Omit<EventRecord, 'seq'>;

/** Maximum number of events that one command removes. */
const REMOVED_AT_ONCE = 1_000;

/** Reads only data that a change of primary cannot undo. */
const LASTING = { ...OPERATION_LIMITS, readConcern: 'majority' } as const;

/**
 * The log of all events, in one order. An event gets the position after the highest one, and a unique index lets only one
 * writer succeed. So no position is filled after a later one: who has read up to a position has missed nothing before it.
 */
@Injectable()
export class EventLog {
  /** Emits whenever this process has appended events. */
  readonly appended = new Subject<void>();

  constructor(
    @InjectModel(EVENT_MODEL.name, CRUD_CONNECTION) private readonly model: Model<EventRecord>,
    private readonly database: Database,
  ) {}

  /** Stores events and returns them as stored. One that the log already has is not changed. */
  async append(events: readonly NewEvent[]): Promise<EventRecord[]> {
    const stored = new Map<string, EventRecord>();
    let left = [...new Map(events.map((event) => [event._id, event])).values()];
    while (left.length > 0) {
      const after = await this.head(OPERATION_LIMITS);
      const records = left.map((event, i) => ({ ...event, seq: after + 1 + i }));
      const inserted = records.slice(0, await this.database.call(() => this.insert(records)));
      left = left.slice(inserted.length);
      // If some are left, another process was faster, or has already stored one of them.
      const known = left.length > 0 ? await this.findAll(left.map(({ _id }) => _id)) : [];
      for (const record of [...inserted, ...known]) stored.set(record._id, record);
      left = left.filter(({ _id }) => !stored.has(_id));
    }
    this.appended.next();
    return events.map(({ _id }) => stored.get(_id) as EventRecord);
  }

  /** Events of a tenant after a position, in order. */
  read(tenant: string, { after, limit }: { after: number; limit: number }): Promise<EventRecord[]> {
    const filter = { tenant, seq: { $gt: after } };
    const options = { ...LASTING, sort: { seq: 1 }, limit } as const;
    return this.database.call(() => this.events.find(filter, options).toArray());
  }

  /** The tenants that have events after one position and up to another. */
  tenantsOf({ after, upTo }: { after: number; upTo: number }): Promise<string[]> {
    const seq = { $gt: after, $lte: upTo };
    return this.database.call(() => this.events.distinct('tenant', { seq }, LASTING));
  }

  /** What tells which subscriptions get the events of a tenant after one position and up to another, in order. */
  outline(
    tenant: string,
    { after, upTo, limit }: { after: number; upTo: number; limit: number },
  ): Promise<Pick<EventRecord, '_id' | 'seq' | 'type'>[]> {
    const filter = { tenant, seq: { $gt: after, $lte: upTo } };
    const options = { ...FROM_PRIMARY, projection: { seq: 1, type: 1 }, sort: { seq: 1 }, limit } as const;
    return this.database.call(() => this.events.find(filter, options).toArray());
  }

  /** An event of a tenant by its identifier. */
  find(tenant: string, _id: string): Promise<EventRecord | null> {
    return this.database.call(() => this.events.findOne({ _id, tenant }, LASTING));
  }

  /** The newest event of a tenant. */
  newest(tenant: string): Promise<EventRecord | null> {
    return this.database.call(() => this.events.findOne({ tenant }, { ...LASTING, sort: { seq: -1 } }));
  }

  /** The events with these identifiers that are still stored. */
  findAll(ids: readonly string[]): Promise<EventRecord[]> {
    return this.database.call(() => this.events.find({ _id: { $in: [...ids] } }, FROM_PRIMARY).toArray());
  }

  /** The highest position in the log; 0 if it is empty. */
  async head(options: mongo.FindOptions = LASTING): Promise<number> {
    const query = { ...options, sort: { seq: -1 }, projection: { seq: 1 } } as const;
    return (await this.database.call(() => this.events.findOne({}, query)))?.seq ?? 0;
  }

  /** Removes events older than a time, but never the last one, since the next position follows it. */
  async removeBefore(time: Date): Promise<void> {
    const query = { ...OPERATION_LIMITS, sort: { seq: 1 }, limit: REMOVED_AT_ONCE + 1 } as const;
    const options = { ...query, projection: { seq: 1, at: 1 } };
    for (;;) {
      const oldest = await this.database.call(() => this.events.find({}, options).toArray());
      const kept = oldest.findIndex(({ at }) => at >= time);
      const last = oldest.slice(0, kept < 0 ? -1 : kept).at(-1);
      if (!last) return;
      const old = { seq: { $lte: last.seq } };
      await this.database.call(() => this.events.deleteMany(old, OPERATION_LIMITS));
    }
  }

  private get events(): mongo.Collection<EventRecord> {
    return this.model.collection as unknown as mongo.Collection<EventRecord>;
  }

  /** Stores events up to the first one that is rejected as a duplicate, of its position or its identifier. @returns how many */
  private async insert(records: readonly EventRecord[]): Promise<number> {
    try {
      await this.events.insertMany(records, { ...OPERATION_LIMITS, ordered: true });
      return records.length;
    } catch (error) {
      const [first] = error instanceof mongo.MongoBulkWriteError ? [error.writeErrors].flat() : [];
      if (first?.code !== DUPLICATE_KEY) throw error;
      return first.index;
    }
  }
}
