/** The hooks that run after a write, and the events of the same name. */
export type AfterHook = 'afterCreate';

/** The actions that hooks belong to, by the seed's names. */
export type WriteAction = 'create' | 'update' | 'del';

/** What a hook and a listener are told about a write (contract section 7). */
export interface EntityEvent<Entity = unknown> {
  /** Name of the resource, such as `posts`. */
  readonly resource: string;
  readonly action: WriteAction;
  /** The record as it was stored, with the fields that a client may see. */
  readonly record: Entity;
  /** The tenant that wrote it: 24 hexadecimal digits; absent where nothing isolates the action. */
  readonly tenant?: string;
  /** When it was stored: RFC 3339, UTC, milliseconds. */
  readonly time: string;
}

/** The name under which an event is emitted, for example `posts.afterCreate`. */
export function entityEventName(resource: string, hook: AfterHook): string {
  return `${resource}.${hook}`;
}
