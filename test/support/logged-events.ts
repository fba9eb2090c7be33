import type { mongo } from 'mongoose';
import type { EventRecord } from '../../src/common/notifications/log/event-log.js';

/** Writes events into the log of a database as another process of the service would. */
export class LoggedEvents {
  /** What was written, in order. */
  readonly all: EventRecord[] = [];
  private readonly collection: mongo.Collection<EventRecord>;

  constructor(database: mongo.Db) {
    this.collection = database.collection<EventRecord>('events');
  }

  /** Appends an event for each tenant that is named, in this order. */
  async append(...tenants: string[]): Promise<EventRecord[]> {
    const records = tenants.map((tenant, i) => eventRecord(tenant, this.all.length + 1 + i));
    this.all.push(...records);
    // A copy: the driver may write into what it inserts.
    await this.collection.insertMany(records.map((record) => ({ ...record })));
    return records;
  }

  /** Identifiers of a tenant's events, in order. */
  idsOf(tenant: string): string[] {
    return this.all.filter((event) => event.tenant === tenant).map(({ _id }) => _id);
  }
}

/** An event as the log has it; `title` is that of its post. */
export function eventRecord(tenant: string, seq: number, title = `Post ${seq}`): EventRecord {
  const at = new Date();
  const data = { _id: seq.toString(16).padStart(24, '0'), title, tenant };
  const body = JSON.stringify({ type: 'posts.created', timestamp: at.toISOString(), data });
  return { _id: `evt_${data._id}`, seq, tenant, type: 'posts.created', at, body };
}
