/** The hooks that run after a write, and the events of the same name. */
export type AfterHook = 'afterCreate' | 'afterUpdate' | 'afterDel';

/** The purpose of a write. A resource with an archive reports `del` and `restore` by its `afterUpdate`. */
export type WriteAction = 'create' | 'update' | 'del' | 'restore';

/** Tells a listener about a write. */
export interface EntityEvent<Entity = unknown> {
  /** `evt_` and 24 hexadecimal digits, the same however often it is told; absent if the resource has no outbox. */
  readonly id?: string;
  /** Name of the resource, such as `posts`. */
  readonly resource: string;
  readonly action: WriteAction;
  /** The record as it was stored, or removed, with the fields that a client may see. */
  readonly record: Entity;
  /** Names of the fields that the write set, changed or removed; empty for a delete. */
  readonly changed: readonly string[];
  /** The tenant that wrote it: 24 hexadecimal digits; absent if no token was asked for. */
  readonly tenant?: string;
  /** When it was stored: RFC 3339, UTC, milliseconds. */
  readonly time: string;
}

/** The name under which an event is emitted, for example `posts.afterCreate`. */
export function entityEventName(resource: string, hook: AfterHook): string {
  return `${resource}.${hook}`;
}
