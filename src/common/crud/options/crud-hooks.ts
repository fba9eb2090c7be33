import type { EntityEvent, WriteAction } from '../../events/index.js';
import type { TenantContext, TenantScope } from '../../tenancy/index.js';
import type { Changes, Presented } from './records.js';

/** The request around the write that a hook runs for. */
interface HookContext {
  /** Name of the resource, such as `posts`. */
  readonly resource: string;
  readonly scope: TenantScope;
  readonly caller: TenantContext;
  /** Path parameters of the request; empty if the verb was called in code. */
  readonly params: Readonly<Record<string, string>>;
}

/** Why a record changes: a PATCH (`update`), archiving (`del`), or restoring from the archive (`restore`). */
export type UpdateAction = Extract<WriteAction, 'update' | 'del' | 'restore'>;

/** Passed to a hook before a create. Identifiers are strings. */
export interface BeforeCreate<Entity, Create> extends HookContext {
  readonly action: 'create';
  /** The validated body, with its write-only fields. */
  readonly input: Readonly<Create>;
  /** The record to store. Set fields here, including those that no client may send. */
  readonly record: Partial<Presented<Entity>> & Record<string, unknown>;
}

/** Passed to a hook before an update, an archiving delete or a restore. Runs again if the record changed meanwhile. */
export interface BeforeUpdate<Entity, Update> extends HookContext {
  readonly action: UpdateAction;
  /** The validated body, with its write-only fields; empty if the write is not a PATCH. */
  readonly changes: Changes<Update>;
  /** The record after the update. Set fields here, including those that no client may send. */
  readonly record: Presented<Entity> & Record<string, unknown>;
  /** The record before the update. */
  readonly previous: Presented<Entity>;
}

/** Passed to a hook before a delete. Runs again if the record changed meanwhile. */
export interface BeforeDel<Entity> extends HookContext {
  readonly action: 'del';
  readonly record: Presented<Entity>;
}

/** Passed to a hook after a create; `record` is the record as clients see it. */
export interface AfterCreate<Entity, Create> extends HookContext, EntityEvent<Presented<Entity>> {
  readonly action: 'create';
  readonly input: Readonly<Create>;
}

/** Passed to a hook after an update; `previous` is exactly the record that this update replaced. */
export interface AfterUpdate<Entity, Update> extends HookContext, EntityEvent<Presented<Entity>> {
  readonly action: UpdateAction;
  readonly changes: Changes<Update>;
  readonly previous: Presented<Entity>;
}

/** Passed to a hook after a delete; `record` is the removed record. */
export interface AfterDel<Entity> extends HookContext, EntityEvent<Presented<Entity>> {
  readonly action: 'del';
}

/**
 * Functions that run before and after the writes of a resource.
 *
 * A before-hook runs after validation. It may set fields of `record`, and it rejects the write by throwing
 * any exception. An after-hook sees the stored record. It cannot fail the request, and the request waits for
 * it no longer than `HOOK_WARN_MS`. Hand heavy work to a queue.
 */
export interface CrudHooks<Entity extends object, Create extends object, Update extends object = Create> {
  beforeCreate?(context: BeforeCreate<Entity, Create>): unknown;
  afterCreate?(context: AfterCreate<Entity, Create>): unknown;
  beforeUpdate?(context: BeforeUpdate<Entity, Update>): unknown;
  afterUpdate?(context: AfterUpdate<Entity, Update>): unknown;
  beforeDel?(context: BeforeDel<Entity>): unknown;
  afterDel?(context: AfterDel<Entity>): unknown;
}
