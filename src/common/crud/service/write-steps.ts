import type { Types } from 'mongoose';
import { DuplicateValueError } from '../../errors/index.js';
import type { AfterHook, EntityEvent, EntityEventPublisher, WriteAction } from '../../events/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudHooks } from '../options/crud-hooks.js';
import type { HookName } from '../options/option-names.js';
import type { Stored } from '../options/records.js';
import { entryOf, eventOf, type OutboxEntry } from '../store/outbox.js';
import type { CrudResource } from './crud-resource.js';

type BeforeHook = Exclude<HookName, AfterHook>;

/** Runs the hooks of one resource, which are functions or methods of a provider. */
export class HookRunner {
  constructor(
    private readonly definition: CrudDefinition,
    private readonly hooks: CrudHooks<object, object>,
    private readonly events: EntityEventPublisher,
  ) {}

  has(name: HookName): boolean {
    return typeof this.hooks[name] === 'function';
  }

  /** Whether an after-hook does anything: the resource has it, or its event has a listener. */
  isHeard(name: AfterHook): boolean {
    return this.has(name) || this.events.isHeard(this.definition.name, name);
  }

  /** Runs a before-hook, if there is one. @throws the hook's own exception */
  async before(name: BeforeHook, context: object): Promise<void> {
    if (!this.has(name)) return;
    await this.events.watch(`${this.definition.name}.${name}`, async () => {
      await this.hooks[name]?.(context as never);
    });
  }

  /** Runs an after-hook and emits its event; never rejects. */
  async after(name: AfterHook, event: EntityEvent, context: object): Promise<void> {
    const own = this.has(name) ? () => this.hooks[name]?.(context as never) : undefined;
    await this.events.publish(name, event, own);
  }
}

/** What every write of a resource consists of besides its decision and its command. */
export abstract class WriteSteps<Entity extends object, Create extends object, Update extends object> {
  constructor(protected readonly resource: CrudResource<Entity, Create, Update>) {}

  /**
   * Carries out the command of a write. If the resource is audited, stores the audit record before and the
   * outcome after.
   *
   * @param begun called when the next write may begin its own
   */
  protected async audited<T>(
    scope: TenantScope,
    record: unknown,
    entry: OutboxEntry,
    write: () => Promise<T>,
    begun: () => void = () => undefined,
  ): Promise<T> {
    const { audit } = this.resource;
    if (!audit) return write();
    const beginning = audit.begin(scope, record as Types.ObjectId, entry);
    begun();
    const audited = await beginning;
    try {
      const result = await write();
      audited.carriedOut(result);
      return result;
    } catch (error) {
      audited.failed(error);
      throw error;
    }
  }

  protected context(scope: TenantScope): object {
    const { caller, params } = scope;
    return { resource: this.resource.definition.name, scope, caller, params };
  }

  protected entry(
    { caller }: TenantScope,
    action: WriteAction,
    names: readonly string[],
    create: { id?: unknown; at?: Date } = {},
  ): OutboxEntry {
    return entryOf(this.resource.definition, caller, { action, names, ...create });
  }

  protected event({ caller }: TenantScope, record: Stored<Entity>, entry: OutboxEntry): EntityEvent {
    return eventOf(this.resource.definition, caller, record, entry);
  }

  /** The event with its own copy of the record, so that a hook's changes do not reach listeners. */
  protected copy(event: EntityEvent, scope: TenantScope, record: Stored<Entity>): EntityEvent {
    return { ...event, record: this.resource.definition.present(record, scope.caller) };
  }

  /** A unique index may include fields that clients do not know, such as those that isolate a tenant. */
  protected async translated<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      throw error instanceof DuplicateValueError ? error.among(this.resource.definition.inputFields) : error;
    }
  }
}
