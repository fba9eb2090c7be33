import { Injectable } from '@nestjs/common';
import { type Outbox, Outboxes } from '../crud/index.js';

/** Type of the test event; subscriptions cannot name it. */
export const TEST_EVENT_TYPE = 'webhook.test';

/** All types of a resource's events, such as `posts.*` for `posts.created`. */
const allOf = (type: string) => `${type.slice(0, type.lastIndexOf('.'))}.*`;

/** Whether a list of types, such as `posts.created` and `orders.*`, has the type of an event. */
export function isWanted(type: string, wanted: readonly string[]): boolean {
  return wanted.includes(type) || wanted.includes(allOf(type));
}

/** What subscribers can be told of: the writes of every resource with `events`. */
@Injectable()
export class EventTypes {
  /** The resources, by name. */
  readonly outboxes: ReadonlyMap<string, Outbox>;

  constructor(outboxes: Outboxes) {
    this.outboxes = outboxes.read();
  }

  /** Everything that a list of types can name. */
  get known(): readonly string[] {
    const types = [...this.outboxes.values()].map(({ events }) => Object.values(events.types));
    return types.flatMap((ofResource) => [...ofResource, ...ofResource.slice(0, 1).map(allOf)]);
  }

  /** Why a value cannot be in a list of types; undefined if it can. */
  violationOf(type: string): string | undefined {
    return this.known.includes(type) ? undefined : `"${type}" must be one of ${this.known.join(', ')}.`;
  }
}
