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
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import type { Stored } from '../options/records.js';
import type { Fields, StoreFilter } from '../schema/store-types.js';
import type { Hold, Holding } from '../store/reference-holds.js';
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

/** @throws ValidationError that names each reference of new values, by dotted path, that the caller cannot use */
export async function checkReferences(
  { access, definition, parts: { registry } }: CrudResource,
  action: CrudAction,
  scope: TenantScope,
  values: Readonly<Fields>,
): Promise<void> {
  const violations: Violation[] = [];
  for (const { to, path, check } of definition.references) {
    const places = check === false ? [] : placesOf(path, values);
    if (places.length === 0) continue;
    const target = registry.of(to);
    // The isolation fields that this write and the target have in common.
    const own = check === 'sameScope' ? Object.entries(access.isolationValues(action, scope)) : [];
    const filter = Object.fromEntries(own.filter(([field]) => target.definition.schema.path(field)));
    const ids = places.map(({ id }) => id);
    const readable = await readableRecords(target, scope, ids, { filter, idsOnly: true });
    const there = new Set(readable.map(({ _id }) => _id.toHexString()));
    const absent = places.filter(({ id }) => !there.has(id));
    violations.push(...violationsAt(absent, path, target));
  }
  reject(violations);
}

/** Holds the records that the writes of a resource refer to; undefined if they refer to none. */
export function holdingOf({ references }: CrudDefinition, registry: Resources): Holding | undefined {
  const held = references.filter(({ onDelete }) => onDelete !== 'ignore');
  if (held.length === 0) return undefined;
  return async (values, write) => {
    const named = held
      .map((reference) => ({ ...reference, places: placesOf(reference.path, values) }))
      .filter(({ places }) => places.length > 0);
    if (named.length === 0) return write(() => Promise.resolve());
    const holds: Hold[] = [];
    const hold = async () => {
      const violations: Violation[] = [];
      for (const { to, path, check, places } of named) {
        const target = registry.of(to);
        const ids = places.filter(({ id }) => isObjectId(id)).map(({ id }) => new Types.ObjectId(id));
        const taken = await target.store.holds.take(ids);
        holds.push(taken);
        // Deleted since it was checked.
        const gone = check === false ? [] : places.filter(({ id }) => !taken.held.has(id));
        violations.push(...violationsAt(gone, path, target));
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
  };
}

/**
 * Waits until no write that refers to a record is under way, and returns the condition that none has begun
 * since. The record may be deleted only on this condition.
 *
 * @throws StillReferencedError if a reference restricts the deletion
 * @throws WriteConflictError if there is such a write each time
 */
export async function unheld(resource: CrudResource, id: Types.ObjectId, scope: TenantScope) {
  // What a transaction reads stays the same: it has to be repeated.
  const end = performance.now() + (scope.context.unit ? 0 : WAIT_MS);
  for (;;) {
    const condition = await resource.store.holds.unheld(id);
    if (condition) return condition;
    await rejectRestricted(resource, id, scope, false);
    if (performance.now() > end) throw new WriteConflictError();
    await pause(POLL_MS);
  }
}

/**
 * Prepares the deletion of a record: rejects it if a reference restricts it, then deletes or unlinks the
 * records that refer to it. If the process ends in between, the record is still there.
 *
 * @param outer keys of the records whose removal includes this one: their referrers are checked already
 * @throws StillReferencedError before anything has been changed
 */
export async function release(
  resource: CrudResource,
  id: Types.ObjectId,
  whole: TenantScope,
  outer: ReadonlySet<string>,
): Promise<void> {
  const { definition, parts } = resource;
  await rejectRestricted(resource, id, whole, outer.size === 0);
  const { origin, unit, cause = whole } = whole.context;
  const within = new Set([...outer, keyOf(definition, id)]);
  for (const { resource: referrer, reference } of parts.registry.referrersOf(definition.entity)) {
    const { onDelete, path } = reference;
    if (onDelete === 'restrict') continue;
    for await (const { _id } of referrer.store.find({ [path]: id })) {
      // References may be circular.
      if (within.has(keyOf(referrer.definition, _id))) continue;
      const scope = unrestrictedScope(whole.caller);
      const isSecret = referrer.definition.audit !== undefined && !(await canRead(referrer, cause, { _id }));
      Object.assign(scope.context, { origin, unit, cause, isSecret });
      // The record may have been changed since it was read, and refer to another one.
      const filter = { _id, [path]: id };
      if (onDelete === 'cascade') await referrer.writes.remove(scope, filter, within);
      else await referrer.writes.unlink(scope, filter, path);
    }
  }
}

/**
 * Records that the caller cannot read do not restrict: a 409 would tell of them, and their owner could keep the
 * record for ever.
 *
 * @param isDeep whether to also check the records that a cascade would delete
 */
async function rejectRestricted(
  { definition, parts }: CrudResource,
  id: Types.ObjectId,
  scope: TenantScope,
  isDeep: boolean,
  seen = new Set<string>(),
): Promise<void> {
  const key = keyOf(definition, id);
  if (seen.has(key)) return;
  seen.add(key);
  for (const { resource: referrer, reference } of parts.registry.referrersOf(definition.entity)) {
    const { onDelete, path } = reference;
    const filter = { [path]: id };
    if (onDelete === 'restrict' && (await canRead(referrer, scope.context.cause ?? scope, filter)))
      throw new StillReferencedError(definition.label.toLowerCase(), referrer.definition.name);
    if (onDelete !== 'cascade' || !isDeep) continue;
    for await (const { _id } of referrer.store.find(filter))
      await rejectRestricted(referrer, _id, scope, isDeep, seen);
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

/** The violations of references to records that are not there. */
function violationsAt(places: readonly Place[], path: string, { definition }: CrudResource): Violation[] {
  const detail = errorMessages.noSuchReference(path, definition.label.toLowerCase());
  return places.map(({ pointer }) => ({ pointer, detail }));
}

/** The places that values, by their dotted paths, have at the path of a reference. */
function placesOf(path: string, values: object): Place[] {
  return Object.keys(values).flatMap((at) => {
    // A path may lead to one entry of a list.
    const declared = at.replaceAll(/\.\d+(?=\.|$)/g, '');
    if (path !== declared && !path.startsWith(`${declared}.`)) return [];
    const rest = path === declared ? [] : path.slice(declared.length + 1).split('.');
    return placesIn(values, at, rest, toPointer(at.split('.')));
  });
}
