import type { EntityEvent, WriteAction } from '../../events/index.js';
import type { TenantContext, TenantScope } from '../../tenancy/index.js';
import type { Changes, Presented } from './records.js';

/** Around which writes a hook runs. */
interface HookContext {
  /** Name of the resource, such as `posts`. */
  readonly resource: string;
  readonly scope: TenantScope;
  readonly caller: TenantContext;
  /** Path parameters of the request; empty if the verb was called in code. */
  readonly params: Readonly<Record<string, string>>;
}

/** The reason of a change: a PATCH (`update`), archiving the record (`del`), or restoring it (`restore`). */
export type UpdateAction = Extract<WriteAction, 'update' | 'del' | 'restore'>;

/** Tells a hook before a create; identifiers are strings. */
export interface BeforeCreate<Entity, Create> extends HookContext {
  readonly action: 'create';
  /** The validated body, with its write-only fields. */
  readonly input: Readonly<Create>;
  /** The record to be stored. Set fields here, also those that no client may send. */
  readonly record: Partial<Presented<Entity>> & Record<string, unknown>;
}

/** Tells a hook before an update, an archiving delete or a restore. It runs again if the record changed meanwhile. */
export interface BeforeUpdate<Entity, Update> extends HookContext {
  readonly action: UpdateAction;
  /** The validated body, with its write-only fields; empty if the write is no PATCH. */
  readonly changes: Changes<Update>;
  /** The record as it will be. Set fields here, also those that no client may send. */
  readonly record: Presented<Entity> & Record<string, unknown>;
  /** The record as it is. */
  readonly previous: Presented<Entity>;
}

/** Tells a hook before a delete. It runs again if the record changed meanwhile. */
export interface BeforeDel<Entity> extends HookContext {
  readonly action: 'del';
  readonly record: Presented<Entity>;
}

/** Tells a hook after a create; `record` is as clients see it. */
export interface AfterCreate<Entity, Create> extends HookContext, EntityEvent<Presented<Entity>> {
  readonly action: 'create';
  readonly input: Readonly<Create>;
}

/** Tells a hook after an update; `previous` is the record that this very write replaced. */
export interface AfterUpdate<Entity, Update> extends HookContext, EntityEvent<Presented<Entity>> {
  readonly action: UpdateAction;
  readonly changes: Changes<Update>;
  readonly previous: Presented<Entity>;
}

/** Tells a hook after a delete; `record` is the one that was removed. */
export interface AfterDel<Entity> extends HookContext, EntityEvent<Presented<Entity>> {
  readonly action: 'del';
}

/**
 * Functions of a resource around its writes.
 *
 * A before-hook runs after validation; it may set fields of `record`, and refuses the write with any exception it throws. An
 * after-hook sees the stored record; it cannot fail the request, and the request does not wait for it longer than
 * `HOOK_WARN_MS`. Hand heavy work to a queue.
 */
export interface CrudHooks<Entity extends object, Create extends object, Update extends object = Create> {
  beforeCreate?(context: BeforeCreate<Entity, Create>): unknown;
  afterCreate?(context: AfterCreate<Entity, Create>): unknown;
  beforeUpdate?(context: BeforeUpdate<Entity, Update>): unknown;
  afterUpdate?(context: AfterUpdate<Entity, Update>): unknown;
  beforeDel?(context: BeforeDel<Entity>): unknown;
  afterDel?(context: AfterDel<Entity>): unknown;
}
