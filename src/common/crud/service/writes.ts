import { Types } from 'mongoose';
import {
  BodyTooLargeError,
  errorMessages,
  toPointer,
  ValidationError,
  WriteConflictError,
} from '../../errors/index.js';
import { type TenantScope, unrestrictedScope } from '../../tenancy/index.js';
import type { UpdateAction } from '../options/crud-hooks.js';
import type { Changes, Stored } from '../options/records.js';
import type { StoreChange, StoreFilter } from '../store/crud.store.js';
import { isIsolatedBy } from './access.js';
import {
  allOf,
  differences,
  isEmpty,
  keepIdentity,
  keepRequired,
  mergedFields,
  namesOf,
  needsPrevious,
  planChange,
  unchanged,
  valueAt,
} from './changes.js';
import { changeOfDraft } from './draft.js';
import { WriteSteps } from './write-steps.js';

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

/**
 * Carries out the updates and removals of a resource: hooks, references, the one atomic command, events. Filters come from
 * `Access`.
 */
export class Writes<Entity extends object, Create extends object, Update extends object> extends WriteSteps<
  Entity,
  Create,
  Update
> {
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
      const shown = previous && definition.presenter.present(previous);
      const merged = shown && mergedFields(definition, changes, shown);
      if (merged) {
        this.refuseGrowth(shown, merged);
        await definition.updateReader.check(merged as Partial<Update>);
      }
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
      let condition = found ? unchanged(filter, found) : filter;
      if (found) {
        if (references.matterOnDelete)
          condition = allOf(condition, await references.unheld(found._id, scope));
        const record = definition.presenter.present(found);
        await hooks.before('beforeDel', { ...this.context(scope), action: 'del', record });
        await references.release(found._id, scope, within);
      }
      const entry = this.entry(scope, 'del', []);
      const removed = await this.audited(scope, found?._id ?? filter._id, entry, () =>
        store.delete(condition),
      );
      if (!removed && found) continue;
      if (!removed) return undefined;
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

  /** @throws BodyTooLargeError if fields have been merged into more than a body can have, and have grown */
  private refuseGrowth(previous: object, merged: object): void {
    const bodyLimit = this.resource.bodyLimit();
    const size = (fields: object) => Buffer.byteLength(JSON.stringify(fields));
    const after = size(merged);
    if (after <= bodyLimit) return;
    const names = Object.keys(merged);
    const before = Object.fromEntries(Object.entries(previous).filter(([name]) => names.includes(name)));
    if (after > size(before)) throw new BodyTooLargeError(bodyLimit, errorMessages.mergedTooLarge(bodyLimit));
  }

  /**
   * @throws ValidationError if clients may set the field, and Error if not, if a change would move the record
   * out of the scope that the write was requested in
   */
  private keepScope(action: 'update' | 'del', scope: TenantScope, change: Required<StoreChange>): void {
    const { access, definition } = this.resource;
    for (const [field, value] of Object.entries(access.fields(action, scope))) {
      if (!namesOf(change).includes(field)) continue;
      if (isIsolatedBy(definition.schema, field, change.set[field], value)) continue;
      if (definition.inputFields.includes(field)) {
        throw new ValidationError([{ pointer: toPointer([field]), detail: errorMessages.ownEntry(field) }]);
      }
      throw new Error(`A change of ${definition.label} sets "${field}", which isolates the record.`);
    }
  }
}
