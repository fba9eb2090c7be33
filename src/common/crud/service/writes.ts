import { Types } from 'mongoose';
import { DuplicateValueError, WriteConflictError } from '../../errors/index.js';
import type { AfterHook } from '../../events/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { AuditTrail } from '../audit/audit-trail.js';
import type { UpdateAction } from '../options/crud-hooks.js';
import type { CrudAction, HookName } from '../options/crud-options.js';
import type { Changes, Stored } from '../options/records.js';
import { allOf, type Fields, type StoreChange, type StoreFilter, valueAt } from '../schema/store-types.js';
import { deletionIdOf, entryOf, eventOf, type OutboxEntry } from '../store/outbox.js';
import {
  changedValues,
  withoutIdentity,
  requireFields,
  requireOwnFields,
  requireSameScope,
  mergedFields,
  namesOf,
  needsPrevious,
  planChange,
  rejectGrowth,
  requireComplete,
} from './changes.js';
import type { CrudResource } from './crud-resource.js';
import { changeOfDraft, requireSameIsolation, recordOfDraft } from './draft.js';
import { checkReferences, release, unheld } from './references.js';

/** How often a write is retried because the record changed in between. */
const MAX_ATTEMPTS = 10;

/** What a change is part of. */
interface ChangeContext {
  /** @default 'update' */
  readonly action?: UpdateAction;
  /** The body to pass to the hooks. @default none */
  readonly changes?: object;
  /** Whether the change depends on the current record. @default false */
  readonly isRelative?: boolean;
  /** Whether the change only removes a reference, so that the remaining ones need not be checked. @default false */
  readonly unlinks?: boolean;
  /** Whether the caller needs only the revision. If nobody needs more, concurrent changes share a command. @default false */
  readonly isUnread?: boolean;
}

/** Carries out the writes of a resource: hooks, references, the one atomic command, events. */
export class Writes<Entity extends object, Create extends object, Update extends object> {
  constructor(private readonly resource: CrudResource<Entity, Create, Update>) {}

  /** Stores a record with the input and the fields that isolate it, and runs the hooks; once per idempotency key. */
  async create(scope: TenantScope, input: Create, isolationValues: Fields): Promise<Stored<Entity>> {
    const { reservation } = scope.context;
    const insert = (id?: Types.ObjectId) => this.insert(scope, input, isolationValues, id);
    const find = (id: Types.ObjectId) => this.find(scope, id);
    const created = reservation
      ? await reservation.once(this.resource.definition.name, { find, insert })
      : await insert();
    await this.announce('afterCreate', scope, ...created, () => ({ input }));
    return created[0];
  }

  /**
   * The record that an earlier request with the same key has stored, if this one was rejected before it could
   * find it. The after-hooks run again, since nobody knows whether they ran then.
   */
  async findEarlierCreate(scope: TenantScope, input: Create): Promise<Stored<Entity> | undefined> {
    const { name } = this.resource.definition;
    const found = await scope.context.reservation?.findFirst(name, (id) => this.find(scope, id));
    if (found) await this.announce('afterCreate', scope, ...found, () => ({ input }));
    return found?.[0];
  }

  /** Changes the record that matches as planned, and runs the update hooks; undefined if none matches. */
  async update(
    scope: TenantScope,
    filter: StoreFilter,
    plan: (previous: Stored<Entity> | undefined) => Required<StoreChange> | Promise<Required<StoreChange>>,
    { action = 'update', changes = {}, isRelative, isUnread, unlinks }: ChangeContext,
  ): Promise<Stored<Entity> | undefined> {
    const { definition, store } = this.resource;
    const { audit, events, kinds } = definition;
    const needsCurrent = isRelative || kinds !== undefined || this.has('beforeUpdate');
    const sharesCommand = isUnread && !needsCurrent && !events && !audit && !this.isHeard('afterUpdate');
    const isolatedAs = action === 'restore' ? 'update' : action;
    return this.optimistically(filter, needsCurrent, async (current, condition) => {
      let change = await plan(current);
      const planned = change.set;
      if (!unlinks) await this.checkReferences(isolatedAs, scope, planned);
      if (current && this.has('beforeUpdate')) {
        change = await changeOfDraft(definition, current, change, (draft) =>
          this.before('beforeUpdate', scope, { action, changes, ...draft }),
        );
      }
      requireSameScope(this.resource, isolatedAs, scope, change);
      const id = current?._id ?? filter._id;
      change = withoutIdentity(definition.label, change, id);
      requireFields(definition, change, current);
      const names = namesOf(change);
      if (names.length === 0) return current ?? (await store.findOne(filter));
      await this.checkReferences(isolatedAs, scope, changedValues(planned, change.set));
      if (sharesCommand) {
        const onQueued = () => scope.context.writeTurn?.release();
        const __v = await this.send(scope, () => store.updateUnread(condition, change, { onQueued }));
        return __v === undefined ? undefined : ({ _id: filter._id, __v } as Stored<Entity>);
      }
      const entry = entryOf(definition, scope.caller, action, names);
      const updated = await this.audited(scope, id, entry, () =>
        this.send(scope, () => store.update(condition, change, { entry })),
      );
      if (!updated) return undefined;
      const { record, previous } = updated;
      if (record === previous) return record;
      await this.announce('afterUpdate', scope, record, entry, () => ({
        changes,
        previous: definition.present(previous, scope.caller),
      }));
      return record;
    });
  }

  /** {@link Writes.update} by a merge patch (RFC 7396). */
  async patch(scope: TenantScope, filter: StoreFilter, changes: Changes<Update>, isUnread?: boolean) {
    const { definition } = this.resource;
    const plan = async (previous: Stored<Entity> | undefined) => {
      const shown = previous && definition.presenter.present(previous);
      const merged = shown && mergedFields(definition, changes, shown);
      if (merged) {
        rejectGrowth(this.resource.parts.bodyLimit(), shown, merged);
        await definition.updateReader.of(previous).check(merged);
      }
      return planChange(definition, changes, previous);
    };
    return this.update(scope, filter, plan, { changes, isRelative: needsPrevious(changes), isUnread });
  }

  /** Removes the reference that a filter names, a field or an entry of a list, and runs the update hooks. */
  async unlink(scope: TenantScope, filter: StoreFilter, path: string): Promise<void> {
    const isList = this.resource.definition.schema.path(path).instance === 'Array';
    const plan = (previous: Stored<Entity> | undefined) => {
      if (!isList) return { set: {}, unset: [path] };
      const isOther = (entry: unknown) => String(entry) !== String(filter[path]);
      const others = [valueAt(previous, path) ?? []].flat().filter(isOther);
      return { set: { [path]: others }, unset: [] };
    };
    await this.update(scope, filter, plan, { isRelative: isList, unlinks: true });
  }

  /**
   * Removes the record that matches, and runs the delete hooks; undefined if none matches.
   *
   * @param within keys of the records whose removal this one is part of
   */
  async remove(scope: TenantScope, filter: StoreFilter, within: ReadonlySet<string> = new Set()) {
    const { definition, store } = this.resource;
    const needsCurrent = this.has('beforeDel') || store.isReferredTo();
    return this.optimistically(filter, needsCurrent, async (current, unchangedFilter) => {
      let condition = unchangedFilter;
      if (current) {
        if (store.isReferredTo())
          condition = allOf(condition, await unheld(this.resource, current._id, scope));
        const record = definition.presenter.present(current);
        await this.before('beforeDel', scope, { action: 'del', record });
        await release(this.resource, current._id, scope, within);
      }
      const id = current?._id ?? filter._id;
      const announced = definition.events && { id: deletionIdOf(id) };
      const entry = entryOf(definition, scope.caller, 'del', [], announced);
      // Subscribers were told when it was archived.
      const told = definition.archive ? undefined : entry;
      const removed = await this.audited(scope, id, entry, () => store.delete(condition, told));
      if (removed) await this.announce('afterDel', scope, removed, entry);
      return removed;
    });
  }

  private async insert(scope: TenantScope, input: Create, isolationValues: Fields, id?: Types.ObjectId) {
    const { access, definition, store } = this.resource;
    const entries = Object.entries(input).filter(([name]) => !definition.writeOnly.has(name));
    const given = Object.fromEntries(entries);
    const values = access.isolated(given, isolationValues);
    await access.requireRoom(given, values);
    // Before the hook, which may look up the referenced records, and again after it, for those that it set.
    await this.checkReferences('create', scope, values);
    let record = values;
    if (this.has('beforeCreate')) {
      const edited = await recordOfDraft(definition, values, (draft) =>
        this.before('beforeCreate', scope, { action: 'create', input, record: draft }),
      );
      requireSameIsolation(definition, 'beforeCreate', edited, isolationValues);
      await this.checkReferences('create', scope, changedValues(values, edited));
      record = access.isolated(edited, isolationValues);
    }
    if (definition.kinds) requireOwnFields(definition, record, record);
    // Middleware of the schema may add more.
    if (!store.hasMiddleware && (definition.kinds || this.has('beforeCreate')))
      requireComplete(definition, record);
    await scope.context.writeTurn?.ready;
    const isNamed = definition.events !== undefined || definition.audit !== undefined;
    const _id = id ?? (isNamed ? new Types.ObjectId() : undefined);
    const placed = { ...(_id && { _id }), ...record };
    const entry = entryOf(definition, scope.caller, 'create', Object.keys(record), { id: placed._id });
    const onQueued = () => scope.context.writeTurn?.release();
    const insert = () => this.send(scope, () => store.insert(placed, { entry, onQueued }));
    // An audited write is ordered by its audit record, others by their insert; a second release does nothing.
    return [await this.audited(scope, _id, entry, insert, onQueued), entry] as const;
  }

  /** The record that an earlier attempt of a keyed create has stored. */
  private async find(scope: TenantScope, _id: Types.ObjectId) {
    const { access, definition, store } = this.resource;
    const stored = await store.findOne({ ...access.isolationValues('create', scope), _id });
    if (!stored) return undefined;
    const made = { id: _id, at: stored.createdAt };
    return [stored, entryOf(definition, scope.caller, 'create', Object.keys(stored), made)] as const;
  }

  /**
   * Carries out a write. One that depends on the record's current state is carried out only if that has not
   * changed, and retried otherwise (optimistic concurrency control).
   *
   * @param write gets the record, if it is needed, and the condition that it is unchanged
   * @throws WriteConflictError if other writes were faster each time
   */
  private async optimistically<T>(
    filter: StoreFilter,
    needsCurrent: boolean,
    write: (current: Stored<Entity> | undefined, condition: StoreFilter) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const current = needsCurrent ? await this.resource.store.findOne(filter) : undefined;
      if (needsCurrent && !current) return undefined;
      const condition = current ? { ...filter, _id: current._id, __v: current.__v ?? null } : filter;
      const result = await write(current, condition);
      if (result !== undefined || !current) return result;
    }
    throw new WriteConflictError();
  }

  /** Carries out the command of a write, between its audit record and its outcome if the resource is audited. */
  private readonly audited: AuditTrail['around'] = (scope, id, entry, write, onOrdered) => {
    const { audit } = this.resource.parts;
    return audit ? audit.around(scope, id, entry, write, onOrdered) : write();
  };

  private has(name: HookName): boolean {
    return typeof this.resource.hooks[name] === 'function';
  }

  /** Whether an after-hook does anything: the resource has it, or its event has a listener. */
  private isHeard(name: AfterHook): boolean {
    const { definition, parts } = this.resource;
    return this.has(name) || parts.events.isHeard(definition.name, name);
  }

  /** Runs a before-hook, if there is one. @throws the hook's own exception */
  private async before(name: Exclude<HookName, AfterHook>, scope: TenantScope, context: object) {
    if (!this.has(name)) return;
    const { definition, parts } = this.resource;
    await parts.events.warnIfSlow(`${definition.name}.${name}`, async () => {
      await this.resource.hooks[name]?.({ ...this.hookContext(scope), ...context } as never);
    });
  }

  /** Runs an after-hook, with more than the event, and emits that, if anyone hears it; never rejects. */
  private async announce(
    name: AfterHook,
    scope: TenantScope,
    record: Stored<Entity>,
    entry: OutboxEntry,
    more?: () => object,
  ): Promise<void> {
    if (!this.isHeard(name)) return;
    const { definition, parts } = this.resource;
    const { unit } = scope.context;
    const event = eventOf(definition, scope.caller, record, entry);
    // With its own copy of the record, so that a hook's changes do not reach listeners.
    const context = this.has(name) && {
      ...this.hookContext(unit ? scope.with({ unit: undefined }) : scope),
      ...event,
      record: definition.present(record, scope.caller),
      ...more?.(),
    };
    const own = context ? () => this.resource.hooks[name]?.(context as never) : undefined;
    const publish = () => parts.events.publish(name, event, own);
    if (unit) unit.afterCommit(publish);
    else await publish();
  }

  private hookContext(scope: TenantScope): object {
    return { resource: this.resource.definition.name, scope, caller: scope.caller, params: scope.params };
  }

  private async checkReferences(action: CrudAction, scope: TenantScope, values: Fields): Promise<void> {
    const { resource } = this;
    if (resource.definition.references.length > 0) await checkReferences(resource, action, scope, values);
  }

  /** Sends the command of a write that sets values. */
  private async send<T>({ context }: TenantScope, write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof DuplicateValueError)) throw error;
      // A unique index may include fields that clients do not know, such as those that isolate a tenant.
      const reworded = error.among(this.resource.definition.inputFields);
      context.unit?.reword(error, reworded);
      throw reworded;
    }
  }
}
