import { isDeepStrictEqual } from 'node:util';
import { Types } from 'mongoose';
import { DuplicateValueError, WriteConflictError } from '../../errors/index.js';
import type { EntityEvent, WriteAction } from '../../events/index.js';
import { reservationOf } from '../../idempotency/index.js';
import { type TenantScope, unrestrictedScope } from '../../tenancy/index.js';
import { entryOf, eventOf } from '../definition/event-of.js';
import { plain } from '../definition/plain.js';
import type { UpdateAction } from '../options/crud-hooks.js';
import type { Changes, Stored } from '../options/records.js';
import type { StoreChange, StoreFilter } from '../store/crud.store.js';
import type { OutboxEntry } from '../store/outbox-entry.js';
import { hasMiddleware } from '../store/own-code.js';
import type { CrudResource } from './crud-resource.js';
import {
  differences,
  isEmpty,
  keepIdentity,
  keepRequired,
  namesOf,
  requireTexts,
  unchanged,
  valueAt,
} from './changes.js';
import { changeOfDraft, keepIsolation, recordOfDraft } from './draft.js';
import { placeOf } from './turns.js';
import { mergedFields, needsPrevious, planChange } from './plan-change.js';

/** How often a write is retried because the record changed in between. */
const MAX_ATTEMPTS = 10;

/** The scope and the action that a write belongs to. */
export interface WriteContext<Update> {
  /** @default a scope that isolates nothing */
  scope?: TenantScope;
  /** @default 'update' */
  action?: UpdateAction;
  /** Records whose removal this write is part of, as keys of {@link References}. @default none */
  within?: ReadonlySet<string>;
  /**
   * Whether the change only removes a reference, so that the remaining ones need not be checked.
   *
   * @default false
   */
  unlinks?: boolean;
  /** The body to pass to the hooks. @default none */
  changes?: Changes<Update>;
}

/** A record that a create has stored, with what its hooks and event need. */
interface Made<Entity> {
  readonly stored: Stored<Entity>;
  readonly entry: OutboxEntry;
}

/**
 * Carries out the writes of a resource: hooks, references, the one atomic command, events. Filters come from
 * `Access`.
 */
export class Writes<Entity extends object, Create extends object, Update extends object> {
  constructor(private readonly resource: CrudResource<Entity, Create, Update>) {}

  /**
   * Stores a record with the input and the scope's fields, and runs the create hooks; only once per
   * idempotency key.
   */
  async insert(scope: TenantScope, input: Create): Promise<Stored<Entity>> {
    const reservation = reservationOf(scope);
    const insert = (id?: Types.ObjectId) => this.make(scope, input, id);
    const made = reservation
      ? await reservation.once(this.resource.definition.name, { find: this.finder(scope), insert })
      : await insert();
    return this.announce(scope, input, made);
  }

  /**
   * The record that an earlier request with the same key has stored, if this one was rejected before it could
   * find it. The after-hooks run again, since nobody knows whether they ran then.
   */
  async recall(scope: TenantScope, input: Create): Promise<Stored<Entity> | undefined> {
    const { name } = this.resource.definition;
    const made = await reservationOf(scope)?.recall(name, this.finder(scope));
    return made && this.announce(scope, input, made);
  }

  private finder(scope: TenantScope): (id: Types.ObjectId) => Promise<Made<Entity> | undefined> {
    const { access, store } = this.resource;
    return async (_id) => {
      const stored = await store.findOne({ ...access.fields('create', scope), _id });
      if (!stored) return undefined;
      const names = Object.keys(stored);
      return { stored, entry: this.entry(scope, 'create', names, { id: _id, at: stored.createdAt }) };
    };
  }

  private async make(scope: TenantScope, input: Create, id?: Types.ObjectId): Promise<Made<Entity>> {
    const { access, definition, hooks, references, store } = this.resource;
    const fields = access.fields('create', scope);
    const entries = Object.entries(input).filter(([name]) => !definition.writeOnly.has(name));
    const values: Record<string, unknown> = { ...Object.fromEntries(entries), ...fields };
    // Before the hook, which may look up the referenced records, and again after it, for references that it
    // set.
    await references.check('create', scope, values);
    let record = values;
    if (hooks.has('beforeCreate')) {
      record = await recordOfDraft(definition, values, (draft) =>
        hooks.before('beforeCreate', { ...this.context(scope), action: 'create', input, record: draft }),
      );
      keepIsolation(definition, 'beforeCreate', record, fields);
      // Middleware of the schema may add more.
      if (!hasMiddleware(definition.schema)) requireTexts(definition.entity, definition.schema, record);
      await references.check('create', scope, differences(values, record));
    }
    const { turn } = placeOf(scope);
    await turn?.come;
    const isNamed = definition.outbox || definition.audit !== undefined;
    const _id = id ?? (isNamed ? new Types.ObjectId() : undefined);
    const placed = { ...(_id && { _id }), ...record, ...fields };
    const entry = this.entry(scope, 'create', Object.keys(record), { id: placed._id });
    const insert = () =>
      this.translated(() => {
        const storing = store.insert(placed, entry);
        turn?.pass();
        return storing;
      });
    // Audit records are stored in the order in which they begin, and the records after them.
    const stored = await this.audited(scope, _id, entry, insert, () => turn?.pass());
    return { stored, entry };
  }

  private async announce(
    scope: TenantScope,
    input: Create,
    { stored, entry }: Made<Entity>,
  ): Promise<Stored<Entity>> {
    if (!this.resource.hooks.isHeard('afterCreate')) return stored;
    const event = this.event(scope, stored, entry);
    await this.resource.hooks.after('afterCreate', event, {
      ...this.context(scope),
      ...this.copy(event, scope, stored),
      input,
    });
    return stored;
  }

  /**
   * Changes the record that matches, and runs the update hooks; undefined if none matches. A decision that
   * depends on the record's current state (a nested patch, a hook) is written only if that state has not
   * changed, and retried otherwise.
   *
   * @throws WriteConflictError if other writes were faster each time
   */
  async change(
    filter: StoreFilter,
    change: Required<StoreChange>,
    context: WriteContext<Update> = {},
  ): Promise<Stored<Entity> | undefined> {
    return this.decide(
      filter,
      this.resource.hooks.has('beforeUpdate'),
      () => Promise.resolve(change),
      context,
    );
  }

  /** {@link Writes.change} by a merge patch (RFC 7396). */
  async patch(
    filter: StoreFilter,
    changes: Changes<Update>,
    context: WriteContext<Update> = {},
  ): Promise<Stored<Entity> | undefined> {
    const { definition, hooks } = this.resource;
    const needs = hooks.has('beforeUpdate') || needsPrevious(changes);
    const plan = async (previous: Stored<Entity> | undefined) => {
      const merged = previous && mergedFields(definition, changes, definition.presenter.present(previous));
      if (merged) await definition.updateReader.check(merged as Partial<Update>);
      return planChange(definition, changes, previous);
    };
    return this.decide(filter, needs, plan, { ...context, changes });
  }

  /**
   * {@link Writes.patch} without reading the record, unless something else needs it. Returns whether a record
   * matched.
   */
  async patchUnread(
    filter: StoreFilter,
    changes: Changes<Update>,
    { scope }: { scope: TenantScope },
  ): Promise<boolean> {
    const { audit, definition, hooks, references, store } = this.resource;
    const isHooked = hooks.has('beforeUpdate') || hooks.isHeard('afterUpdate');
    const change =
      isHooked || audit || needsPrevious(changes) ? undefined : planChange(definition, changes, undefined);
    if (!change || isEmpty(change)) return (await this.patch(filter, changes, { scope })) !== undefined;
    await references.check('update', scope, change.set);
    this.keepScope('update', scope, change);
    keepRequired(definition.entity, change);
    const entry = this.entry(scope, 'update', namesOf(change));
    return this.translated(() => store.updateUnread(filter, change, entry));
  }

  /**
   * Removes a reference (the field, or the entry of a list) from the record that matches, and runs the update
   * hooks.
   */
  async unlink(
    filter: StoreFilter,
    path: string,
    id: Types.ObjectId,
    context: WriteContext<Update>,
  ): Promise<Stored<Entity> | undefined> {
    if (this.resource.definition.schema.path(path).instance !== 'Array') {
      return this.change(filter, { set: {}, unset: [path] }, context);
    }
    const plan = (previous: Stored<Entity> | undefined) => {
      const others = [valueAt(previous, path) ?? []].flat().filter((entry) => String(entry) !== String(id));
      return Promise.resolve({ set: { [path]: others }, unset: [] });
    };
    return this.decide(filter, true, plan, { ...context, unlinks: true });
  }

  /** Removes the record that matches, and runs the delete hooks; undefined if none matches. */
  async remove(
    filter: StoreFilter,
    { scope = unrestrictedScope(), within = new Set() }: WriteContext<Update> = {},
  ): Promise<Stored<Entity> | undefined> {
    const { definition, hooks, references, store } = this.resource;
    if (definition.outbox)
      throw new Error(`${definition.label} has an outbox, whose events a removal would lose.`);
    const needs = hooks.has('beforeDel') || references.matterOnDelete;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const found = needs ? await store.findOne(filter) : undefined;
      if (needs && !found) return undefined;
      if (found) {
        const record = definition.presenter.present(found);
        await hooks.before('beforeDel', { ...this.context(scope), action: 'del', record });
        await references.release(found._id, scope, within);
      }
      const entry = this.entry(scope, 'del', []);
      const removed = await this.audited(scope, found?._id ?? filter._id, entry, () =>
        store.delete(found ? unchanged(filter, found) : filter),
      );
      if (!removed && found) continue;
      if (!removed) return undefined;
      if (found) await references.unlink(found._id, scope, within);
      if (!hooks.isHeard('afterDel')) return removed;
      const event = this.event(scope, removed, entry);
      await hooks.after('afterDel', event, { ...this.context(scope), ...this.copy(event, scope, removed) });
      return removed;
    }
    throw new WriteConflictError();
  }

  private async decide(
    filter: StoreFilter,
    needsCurrent: boolean,
    plan: (previous: Stored<Entity> | undefined) => Promise<Required<StoreChange>>,
    {
      scope = unrestrictedScope(),
      action = 'update',
      changes = {} as Changes<Update>,
      unlinks = false,
    }: WriteContext<Update>,
  ): Promise<Stored<Entity> | undefined> {
    const { definition, hooks, references, store } = this.resource;
    const isolatedAs = action === 'restore' ? 'update' : action;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const current = needsCurrent ? await store.findOne(filter) : undefined;
      if (needsCurrent && !current) return undefined;
      let change = await plan(current);
      const planned = change.set;
      if (!unlinks) await references.check(isolatedAs, scope, planned);
      if (current && hooks.has('beforeUpdate')) {
        change = await changeOfDraft(definition, current, change, (draft) =>
          hooks.before('beforeUpdate', { ...this.context(scope), action, changes, ...draft }),
        );
      }
      this.keepScope(isolatedAs, scope, change);
      change = keepIdentity(definition.label, change, current?._id ?? filter._id);
      keepRequired(definition.entity, change);
      if (isEmpty(change)) return current ?? (await store.findOne(filter));
      await references.check(isolatedAs, scope, differences(planned, change.set));
      const entry = this.entry(scope, action, namesOf(change));
      const updated = await this.audited(scope, current?._id ?? filter._id, entry, () =>
        this.translated(() => store.update(current ? unchanged(filter, current) : filter, change, entry)),
      );
      if (!updated && current) continue;
      if (!updated) return undefined;
      if (!hooks.isHeard('afterUpdate')) return updated.record;
      const event = this.event(scope, updated.record, entry);
      const previous = definition.present(updated.previous, scope.caller);
      await hooks.after('afterUpdate', event, {
        ...this.context(scope),
        ...this.copy(event, scope, updated.record),
        changes,
        previous,
      });
      return updated.record;
    }
    throw new WriteConflictError();
  }

  /**
   * Carries out the command of a write. If the resource is audited, stores the audit record before and the
   * outcome after.
   *
   * @param begun called when the next write may begin its own
   */
  private async audited<T>(
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

  /** @throws Error if a change would move the record out of the scope that the write was requested in */
  private keepScope(action: 'update' | 'del', scope: TenantScope, change: Required<StoreChange>): void {
    const { access, definition } = this.resource;
    for (const [field, value] of Object.entries(access.fields(action, scope))) {
      if (!namesOf(change).includes(field)) continue;
      const after = field in change.set ? access.cast(field, change.set[field]) : undefined;
      if (!isDeepStrictEqual(plain(after), plain(value))) {
        throw new Error(`A change of ${definition.label} sets "${field}", which isolates the record.`);
      }
    }
  }

  private context(scope: TenantScope): object {
    const { caller, params } = scope;
    return { resource: this.resource.definition.name, scope, caller, params };
  }

  private entry(
    { caller }: TenantScope,
    action: WriteAction,
    names: readonly string[],
    create: { id?: unknown; at?: Date } = {},
  ): OutboxEntry {
    return entryOf(this.resource.definition, caller, { action, names, ...create });
  }

  private event({ caller }: TenantScope, record: Stored<Entity>, entry: OutboxEntry): EntityEvent {
    return eventOf(this.resource.definition, caller, record, entry);
  }

  /** The event with its own copy of the record, so that a hook's changes do not reach listeners. */
  private copy(event: EntityEvent, scope: TenantScope, record: Stored<Entity>): EntityEvent {
    return { ...event, record: this.resource.definition.present(record, scope.caller) };
  }

  /** A unique index may include fields that clients do not know, such as those that isolate a tenant. */
  private async translated<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      throw error instanceof DuplicateValueError ? error.among(this.resource.definition.inputFields) : error;
    }
  }
}
