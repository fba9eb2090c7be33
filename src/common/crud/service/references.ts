import { setTimeout as pause } from 'node:timers/promises';
import { Types } from 'mongoose';
import {
  DomainError,
  errorMessages,
  StillReferencedError,
  toPointer,
  ValidationError,
  type Violation,
  WriteConflictError,
} from '../../errors/index.js';
import { isObjectId } from '../../ids/index.js';
import { type TenantScope, unrestrictedScope } from '../../tenancy/index.js';
import type { CrudDefinition, ReferenceDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import type { Stored } from '../options/records.js';
import type { Fields, StoreFilter } from '../store/store-types.js';
import type { Hold } from '../store/reference-holds.js';
import type { Access } from './access.js';
import type { CrudResource, Resources } from './crud-resource.js';
import { isRejection, type Place, placesIn, readableRecords } from './readable-records.js';

declare module '../../request/index.js' {
  interface RequestContext {
    /** The scope of the deletion that a write is part of. */
    cause?: TenantScope;
  }
}

/** How long a deletion waits for writes that refer to the record. Unit: milliseconds. */
const WAIT_MS = 1_500;

/** Unit: milliseconds. */
const POLL_MS = 10;

/** Checks the references that a record makes, and those that other records make to it. */
export class References {
  constructor(
    private readonly definition: CrudDefinition,
    private readonly access: Access,
    private readonly registry: Resources,
  ) {}

  /** @throws ValidationError that names each reference of new values, by dotted path, that the caller cannot use */
  async check(action: CrudAction, scope: TenantScope, values: Readonly<Fields>): Promise<void> {
    const violations: Violation[] = [];
    for (const reference of this.definition.references) {
      if (reference.check === false) continue;
      const found = identifiersIn(reference.path, values);
      if (found.length > 0) violations.push(...(await this.missing(reference, action, scope, found)));
    }
    reject(violations);
  }

  /** Carries out a write that sets values. From its `hold` on, the records that these refer to are there until it ends. */
  async holding<T>(values: object, write: (hold: () => Promise<void>) => Promise<T>): Promise<T> {
    const named = this.definition.references
      .filter(({ onDelete }) => onDelete !== 'ignore')
      .map((reference) => ({ ...reference, found: identifiersIn(reference.path, values) }))
      .filter(({ found }) => found.length > 0);
    if (named.length === 0) return write(() => Promise.resolve());
    const holds: Hold[] = [];
    const hold = async () => {
      const violations: Violation[] = [];
      for (const { to, path, check, found } of named) {
        const target = this.registry.of(to);
        const ids = found.filter(({ id }) => isObjectId(id)).map(({ id }) => new Types.ObjectId(id));
        const taken = await target.store.holds.take(ids);
        holds.push(taken);
        // Deleted since it was checked.
        const gone = check === false ? [] : found.filter(({ id }) => !taken.held.has(id));
        const detail = errorMessages.noSuchReference(path, target.definition.label.toLowerCase());
        violations.push(...gone.map(({ pointer }) => ({ pointer, detail })));
      }
      reject(violations);
    };
    let isOver = true;
    try {
      return await write(hold);
    } catch (error) {
      // A write that failed for another reason may still be carried out.
      isOver = error instanceof DomainError && error.status < 500;
      throw error;
    } finally {
      if (isOver) await Promise.all(holds.map((taken) => taken.release()));
    }
  }

  /**
   * Waits until no write that refers to a record is under way, and returns the condition that none has begun
   * since. The record may be deleted only on this condition.
   *
   * @throws StillReferencedError if a reference restricts the deletion
   * @throws WriteConflictError if there is such a write each time
   */
  async unheld(id: Types.ObjectId, scope: TenantScope): Promise<StoreFilter> {
    // What a transaction reads stays the same: it has to be repeated.
    const end = performance.now() + (scope.context.unit ? 0 : WAIT_MS);
    const { store } = this.registry.of(this.definition.entity);
    for (;;) {
      const condition = await store.holds.unheld(id);
      if (condition) return condition;
      await this.rejectRestricted(id, scope, new Set(), false);
      if (performance.now() > end) throw new WriteConflictError();
      await pause(POLL_MS);
    }
  }

  /**
   * Prepares the deletion of a record: rejects it if a reference restricts it, then deletes or unlinks the
   * records that refer to it. If the process ends in between, the record is still there.
   *
   * @param outer records whose removal includes this one: their referrers are checked already
   * @throws StillReferencedError before anything has been changed
   */
  async release(id: Types.ObjectId, whole: TenantScope, outer: ReadonlySet<string>): Promise<void> {
    await this.rejectRestricted(id, whole, new Set(), outer.size === 0);
    const { origin, unit, cause = whole } = whole.context;
    const within = new Set([...outer, keyOf(this.definition, id)]);
    for (const { resource, reference } of this.registry.referrersOf(this.definition.entity)) {
      if (reference.onDelete === 'restrict') continue;
      for await (const { _id } of resource.store.find({ [reference.path]: id })) {
        // References may be circular.
        if (within.has(keyOf(resource.definition, _id))) continue;
        // The record may have been changed since it was read, and refer to another one.
        const filter = { _id, [reference.path]: id };
        const scope = unrestrictedScope(whole.caller);
        const isSecret =
          resource.definition.audit !== undefined && !(await canRead(resource, cause, { _id }));
        Object.assign(scope.context, { origin, unit, cause, isSecret });
        if (reference.onDelete === 'cascade') await resource.writes.remove(scope, filter, within);
        else await resource.writes.unlink(scope, filter, reference.path, id);
      }
    }
  }

  private async missing(
    { to, path, check }: ReferenceDefinition,
    action: CrudAction,
    scope: TenantScope,
    found: readonly Place[],
  ): Promise<Violation[]> {
    const target = this.registry.of(to);
    const filter = check === 'sameScope' ? this.sharedScope(target, action, scope) : {};
    const ids = found.map(({ id }) => id);
    const readable = await readableRecords(target, scope, ids, { filter, idsOnly: true });
    const there = new Set(readable.map(({ _id }) => _id.toHexString()));
    const detail = errorMessages.noSuchReference(path, target.definition.label.toLowerCase());
    return found.filter(({ id }) => !there.has(id)).map(({ pointer }) => ({ pointer, detail }));
  }

  /** The isolation fields that this write and the target have in common. */
  private sharedScope(target: CrudResource, action: CrudAction, scope: TenantScope): Fields {
    const fields = Object.entries(this.access.isolationValues(action, scope));
    return Object.fromEntries(fields.filter(([field]) => target.definition.schema.path(field)));
  }

  /**
   * Records that the caller cannot read do not restrict: a 409 would tell of them, and their owner could keep the
   * record for ever.
   *
   * @param isDeep whether to also check the records that a cascade would delete
   */
  private async rejectRestricted(
    id: Types.ObjectId,
    scope: TenantScope,
    seen: Set<string>,
    isDeep = true,
  ): Promise<void> {
    const asking = scope.context.cause ?? scope;
    const key = keyOf(this.definition, id);
    if (seen.has(key)) return;
    seen.add(key);
    for (const { resource, reference } of this.registry.referrersOf(this.definition.entity)) {
      const filter = { [reference.path]: id };
      if (reference.onDelete === 'restrict' && (await canRead(resource, asking, filter)))
        throw new StillReferencedError(this.definition.label.toLowerCase(), resource.definition.name);
      if (reference.onDelete !== 'cascade' || !isDeep) continue;
      for await (const { _id } of resource.store.find(filter)) {
        await resource.references.rejectRestricted(_id, scope, seen);
      }
    }
  }
}

/** How many records are looked up together. Unit: records. */
const BATCH = 100;

/** Whether a caller can read one of the records, archived ones included. */
async function canRead(
  { access, parentFields, parents, store }: CrudResource,
  scope: TenantScope,
  filter: StoreFilter,
): Promise<boolean> {
  let owned: StoreFilter;
  try {
    owned = { ...access.owned(scope), ...filter };
  } catch (error) {
    // Who has no value of an isolation field can read none of them. Code may leave one out to mean all.
    if (isRejection(error)) return false;
    if (scope.request) throw error;
    owned = filter;
  }
  if (!parents) return store.exists(owned);
  const batch: Stored<object>[] = [];
  const isReadable = async () => (await parents.readable(scope, batch.splice(0))).length > 0;
  for await (const record of store.find(owned, { fields: parentFields })) {
    batch.push(record);
    if (batch.length === BATCH && (await isReadable())) return true;
  }
  return isReadable();
}

/** Identifies a record among all records of the application. */
function keyOf({ name }: CrudDefinition, id: Types.ObjectId): string {
  return `${name}/${id.toHexString()}`;
}

/** @throws ValidationError if there are violations */
function reject([first, ...others]: readonly Violation[]): void {
  if (first) throw new ValidationError([first, ...others]);
}

/** The identifiers that values, by their dotted paths, put at the path of a reference. */
function identifiersIn(path: string, values: object): Place[] {
  return Object.keys(values).flatMap((at) => {
    // A path may lead to one entry of a list.
    const declared = at.replaceAll(/\.\d+(?=\.|$)/g, '');
    if (path !== declared && !path.startsWith(`${declared}.`)) return [];
    const rest = path === declared ? [] : path.slice(declared.length + 1).split('.');
    return placesIn(values, at, rest, toPointer(at.split('.')));
  });
}
