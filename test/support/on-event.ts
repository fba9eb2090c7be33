import { EventEmitter2 } from '@nestjs/event-emitter';
import type { EntityEvent } from '../../src/common/events/index.js';
import type { TestApp } from './test-app.js';

/** The events of a name from now on, in their order. */
export function onEvent(app: TestApp, name: string): EntityEvent<Record<string, unknown>>[] {
  const events: EntityEvent<Record<string, unknown>>[] = [];
  app.app.get(EventEmitter2, { strict: false }).on(name, (event: (typeof events)[number]) => {
    events.push(event);
  });
  return events;
}
