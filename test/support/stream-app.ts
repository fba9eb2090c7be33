import type { mongo } from 'mongoose';
import { EventLog, type EventRecord } from '../../src/common/notifications/log/event-log.js';
import { NotificationsModule, type StreamOptions } from '../../src/common/notifications/index.js';
import { EventClient, type StreamAsked } from './event-client.js';
import { eventually } from './eventually.js';
import { createResourceApp } from './resource-app.js';
import { acme } from './tenants.js';
import type { TestApp } from './test-app.js';

/** Services and streams of the tests around, which are closed after each. */
export function useStreams() {
  const opened: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close();
  });
  const keep = <T extends { close(): unknown }>(one: T): T => {
    opened.push(one);
    return one;
  };
  return {
    /** Starts a service that has notifications alone, with other limits and intervals than usual. */
    async start(stream?: Partial<StreamOptions>): Promise<TestApp> {
      return keep(await createResourceApp(NotificationsModule.forRoot({ worker: false, stream })));
    },
    /** Opens a stream, of ACME unless another token is given, and waits for its opening. */
    async open({ url }: { url: string }, asked: StreamAsked = {}): Promise<EventClient> {
      const client = keep(await EventClient.open(url, { token: acme, ...asked }));
      if (client.status === 200) await eventually(() => expect(client.text).toContain('\n\n'));
      return client;
    },
  };
}

/** Has the process of an app append an event to the log. */
export async function appendIn(app: TestApp, { seq: _, ...event }: EventRecord): Promise<EventRecord> {
  const [stored] = await app.app.get(EventLog, { strict: false }).append([event]);
  if (!stored) throw new Error('Nothing was stored');
  return stored;
}

/** Writes events into the log of a database as another process of the service would. */
export class LoggedEvents {
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
