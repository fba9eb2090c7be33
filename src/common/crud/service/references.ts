import type { Types } from 'mongoose';
import {
  errorMessages,
  StillReferencedError,
  toPointer,
  ValidationError,
  type Violation,
} from '../../errors/index.js';
import { type TenantScope, unrestrictedScope } from '../../tenancy/index.js';
import { withOriginOf } from '../audit/audit-origin.js';
import type { CrudDefinition, ReferenceDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import type { Access } from './access.js';
import type { CrudRegistry } from './crud.registry.js';
import type { CrudResource } from './crud-resource.js';
import { readableRecords } from './readable-records.js';

/** An identifier in a record, and its place. */
interface Found {
  readonly id: string;
  readonly pointer: string;
}

/** Checks the references that a record makes, and those that other records make to it. */
export class References {
  constructor(
    private readonly definition: CrudDefinition,
    private readonly access: Access,
    private readonly registry: CrudRegistry,
  ) {}

  /** Whether the deletion of a record may affect other resources. */
  get matterOnDelete(): boolean {
    return this.registry.referrersOf(this.definition.entity).length > 0;
  }

  /**
   * Checks new values, by their dotted paths.
   *
   * @throws ValidationError that names each reference to a record that the caller cannot use
   */
  async check(
    action: CrudAction,
    scope: TenantScope,
    values: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const faults: Violation[] = [];
    for (const reference of this.definition.references) {
      if (reference.check === false) continue;
      const found = Object.entries(values).flatMap(([at, value]) => identifiersAt(reference.path, at, value));
      if (found.length > 0) faults.push(...(await this.missing(reference, action, scope, found)));
    }
    const [first, ...others] = faults;
    if (first) throw new ValidationError([first, ...others]);
  }

  /**
   * Prepares the deletion of a record: rejects it if a reference restricts it, then deletes or unlinks the
   * records that refer to it.
   *
   * @param within records whose removal includes this one: they are removed anyway, and their referrers are
   * checked already
   * @throws StillReferencedError before anything has been changed
   */
  async release(id: Types.ObjectId, scope: TenantScope, within: ReadonlySet<string>): Promise<void> {
    await this.refuseRestricted(id, new Set(), within.size === 0);
    await this.unlink(id, scope, within);
  }

  /**
   * Deletes or unlinks the records that refer to a record, without checking restrictions; for references made
   * meanwhile.
   */
  async unlink(id: Types.ObjectId, whole: TenantScope, outer: ReadonlySet<string>): Promise<void> {
    const scope = withOriginOf(whole, unrestrictedScope(whole.caller));
    const within = new Set([...outer, keyOf(this.definition, id)]);
    for (const { resource, reference } of this.registry.referrersOf(this.definition.entity)) {
      if (reference.onDelete === 'restrict') continue;
      for await (const { _id } of resource.store.find({ [reference.path]: id })) {
        // References may be circular.
        if (within.has(keyOf(resource.definition, _id))) continue;
        // The record may have been changed since it was read, and refer to another one.
        const filter = { _id, [reference.path]: id };
        if (reference.onDelete === 'cascade') await resource.writes.remove(filter, { scope, within });
        else await resource.writes.unlink(filter, reference.path, id, { scope });
      }
    }
  }

  private async missing(
    { to, path, check }: ReferenceDefinition,
    action: CrudAction,
    scope: TenantScope,
    found: readonly Found[],
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
  private sharedScope(target: CrudResource, action: CrudAction, scope: TenantScope): Record<string, unknown> {
    const fields = Object.entries(this.access.fields(action, scope));
    return Object.fromEntries(fields.filter(([field]) => target.definition.schema.path(field)));
  }

  /** @param isDeep whether to also check the records that a cascade would delete */
  private async refuseRestricted(id: Types.ObjectId, seen: Set<string>, isDeep = true): Promise<void> {
    const key = keyOf(this.definition, id);
    if (seen.has(key)) return;
    seen.add(key);
    for (const { resource, reference } of this.registry.referrersOf(this.definition.entity)) {
      const filter = { [reference.path]: id };
      if (reference.onDelete === 'restrict' && (await resource.store.exists(filter))) {
        throw new StillReferencedError(this.definition.label.toLowerCase(), resource.definition.name);
      }
      if (reference.onDelete !== 'cascade' || !isDeep) continue;
      for await (const { _id } of resource.store.find(filter)) {
        await resource.references.refuseRestricted(_id, seen);
      }
    }
  }
}

/** Identifies a record among all records of the application. */
function keyOf({ name }: CrudDefinition, id: Types.ObjectId): string {
  return `${name}/${id.toHexString()}`;
}

/**
 * The identifiers that a value, set at one path, puts at the path of a reference, walking into lists on the
 * way.
 */
function identifiersAt(path: string, at: string, value: unknown): Found[] {
  if (path !== at && !path.startsWith(`${at}.`)) return [];
  const rest = path === at ? [] : path.slice(at.length + 1).split('.');
  return walk(value, rest, toPointer(at.split('.')));
}

function walk(value: unknown, rest: readonly string[], pointer: string): Found[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((entry, i) => walk(entry, rest, `${pointer}/${i}`));
  const [head, ...tail] = rest;
  // Digits above 9 may be upper or lower case.
  if (head === undefined) return [{ id: String(value).toLowerCase(), pointer }];
  return walk((value as Record<string, unknown>)[head], tail, `${pointer}/${head}`);
}
