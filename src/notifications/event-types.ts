import type { WriteAction } from '../common/events/index.js';

/** Resources whose events subscribers can receive. */
export const NOTIFIED_RESOURCES = ['posts'] as const;

const VERBS: Readonly<Record<WriteAction, string>> = {
  create: 'created',
  update: 'updated',
  del: 'archived',
  restore: 'restored',
};

/** Every event type that a subscription can name, such as `posts.created`. */
export const EVENT_TYPES: readonly string[] = NOTIFIED_RESOURCES.flatMap((resource) =>
  Object.values(VERBS).map((verb) => `${resource}.${verb}`),
);

/** Type of the test event; subscriptions cannot name it. */
export const TEST_EVENT_TYPE = 'webhook.test';

/** The type of a write's event, such as `posts.archived`. */
export function eventTypeOf({ resource, action }: { resource: string; action: WriteAction }): string {
  return `${resource}.${VERBS[action]}`;
}
