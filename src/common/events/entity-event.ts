/** The hooks that run after a write, and the events of the same name. */
export type AfterHook = 'afterCreate' | 'afterUpdate' | 'afterDel';

/** The purpose of a write. A resource with an archive reports `del` and `restore` through `afterUpdate`. */
export type WriteAction = 'create' | 'update' | 'del' | 'restore';

/** Tells a listener about a write. */
export interface EntityEvent<Entity = unknown> {
  /** `evt_` and 24 hexadecimal digits, the same on every delivery; absent if the resource has no outbox. */
  readonly id?: string;
  /** Name of the resource, such as `posts`. */
  readonly resource: string;
  readonly action: WriteAction;
  /** The record as it was stored or removed, with the fields that clients may see. */
  readonly record: Entity;
  /** Names of the fields that the write set, changed or removed; empty for a delete. */
  readonly changed: readonly string[];
  /** The tenant that made the write: 24 hexadecimal digits; absent if no token was required. */
  readonly tenant?: string;
  /** Time of the write: RFC 3339, UTC, milliseconds. */
  readonly time: string;
}

/** The name of an emitted event, for example `posts.afterCreate`. */
export function entityEventName(resource: string, hook: AfterHook): string {
  return `${resource}.${hook}`;
}
