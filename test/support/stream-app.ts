import { EventLog, type EventRecord } from '../../src/common/notifications/log/event-log.js';
import { NotificationsModule, type StreamOptions } from '../../src/common/notifications/index.js';
import { createResourceApp } from './resource-app.js';
import type { TestApp } from './test-app.js';

/** Starts a service that has notifications alone, with other limits and intervals than usual. */
export function createStreamApp(options?: Partial<StreamOptions>): Promise<TestApp> {
  return createResourceApp(NotificationsModule.forRoot({ worker: false, stream: options }));
}

/** Has the process of an app append an event to the log. */
export async function appendIn(app: TestApp, { seq: _, ...event }: EventRecord): Promise<EventRecord> {
  const [stored] = await app.app.get(EventLog, { strict: false }).append([event]);
  if (!stored) throw new Error('Nothing was stored');
  return stored;
}
