import { HttpException } from '@nestjs/common';
import { Types } from 'mongoose';
import { DomainError, QueryTooBroadError, RecordNotFoundError } from '../../errors/index.js';
import { isObjectId } from '../../ids/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { CrudDefinition, ReferenceDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import { isReadBy } from '../definition/entity-tags.js';
import type { Referred } from '../definition/query-definition.js';
import type { Stored } from '../options/records.js';
import { predicatesOf } from '../query/conditions.js';
import type { Condition, Where } from '../query/list-query.js';
import type { Fields, StoreFilter } from '../schema/store-types.js';
import type { CrudResource, Resources } from './crud-resource.js';

type Records = readonly Stored<object>[];

/** The guards of the route that gets one record. */
export interface RecordGuards {
  /** Whether the route has any besides that of the generator. */
  readonly areDeclared: boolean;
  /** The records that they let the sender of a request get. Without such a route, none but parents. */
  permitted(scope: TenantScope, records: Records, asParents?: boolean): Promise<Records>;
}

interface Reading {
  /** Additional values that the records must have. @default none */
  filter?: StoreFilter;
  /** Whether only identifiers and parents are read. @default false */
  idsOnly?: boolean;
  /** Whether they are read as parents, which need no route of their own. @default false */
  asParents?: boolean;
}

/**
 * The records of a resource, among the given ones, that a caller may read: in its scope, below parents that it may
 * also read, and as the guards of their own route decide. Takes one query, and one more per level of parents.
 *
 * @param ids identifiers, possibly repeated; invalid ones name no record
 * @throws UnauthenticatedError or its like
 */
export async function readableRecords(
  resource: CrudResource,
  scope: TenantScope,
  ids: Iterable<unknown>,
  { filter = {}, idsOnly, asParents }: Reading = {},
): Promise<Records> {
  const reading = { ...resource.access.reading(scope), ...filter };
  const named = [...new Set([...ids].map(String))].filter(isObjectId).map((id) => new Types.ObjectId(id));
  if (named.length === 0) return [];
  const records = await resource.store.findByIds(named, reading, idsOnly ? resource.parentFields : undefined);
  return permitted(resource, scope, records, asParents);
}

/** Those of some records in a caller's scope that are below parents that it may read, and that the guards permit. */
async function permitted(
  { parents, parts }: CrudResource,
  scope: TenantScope,
  records: Records,
  asParents?: boolean,
): Promise<Records> {
  const reached = parents ? await parents.readable(scope, records) : records;
  return parts.guards.permitted(scope, reached, asParents);
}

/** Ensures that a nested resource is reached only through a parent that the caller can read. */
export class Parents {
  /** Identifiers of the parents that were found readable, by scope. */
  private readonly known = new WeakMap<TenantScope, string>();

  constructor(
    private readonly parent: NonNullable<CrudDefinition['parent']>,
    private readonly child: Pick<CrudResource, 'definition' | 'access'>,
    private readonly registry: Resources,
  ) {}

  /** @throws RecordNotFoundError if the caller cannot read the parent */
  async require(action: CrudAction, scope: TenantScope): Promise<void> {
    const id = this.idOf(action, scope);
    if (id === undefined) return;
    // A scope made in code may live longer than its parent.
    if (scope.request && this.known.get(scope) === String(id)) return;
    const children = await this.readable(scope, [{ [this.parent.field]: id }]);
    if (children.length === 0)
      throw new RecordNotFoundError(this.registry.of(this.parent.entity).definition.label);
    this.known.set(scope, String(id));
  }

  /** @throws Error if nobody has checked the parent, so that a filter of its children would show them */
  assertKnown(action: CrudAction, scope: TenantScope): void {
    const id = this.idOf(action, scope);
    if (id === undefined || this.known.get(scope) === String(id)) return;
    throw new Error(
      `Nobody has checked the parent of this scope of ${this.child.definition.label}. Await this.requireParent('${action}', scope) before you call filterOf.`,
    );
  }

  /** Undefined for a scope without isolation, which reaches the children of every parent. */
  private idOf(action: CrudAction, scope: TenantScope): unknown {
    return this.child.access.isolationValues(action, scope)[this.parent.field];
  }

  /** Those records all of whose ancestors the caller can read: each level may be isolated by other fields. */
  async readable<T extends object>(scope: TenantScope, records: readonly T[]): Promise<readonly T[]> {
    const { entity, field } = this.parent;
    const above = this.registry.of(entity);
    const idOf = (record: T) => String((record as Fields)[field]).toLowerCase();
    const reading = { idsOnly: true, asParents: true };
    const found = await readableRecords(above, scope, records.map(idOf), reading);
    const ids = new Set(found.map(({ _id }) => _id.toHexString()));
    return records.filter((record) => ids.has(idOf(record)));
  }
}

/** Whether a caller who has reached a record with an action may read it, too. */
export async function isReadable(
  resource: CrudResource,
  scope: TenantScope,
  action: CrudAction,
  record: Stored<object>,
): Promise<boolean> {
  if (resource.definition.disabled.has('get')) return false;
  const reading = isReadBy(resource.definition, action)
    ? resource.parts.guards.permitted(scope, [record])
    : readableRecords(resource, scope, [record._id], { idsOnly: true });
  return (await reading.catch(noneIfRejected)).length > 0;
}

/** Whether an error means that the caller may not read a resource, rather than that something went wrong. */
export function isRejection(error: unknown): boolean {
  if (error instanceof DomainError) return error.status < 500;
  return error instanceof HttpException && error.getStatus() < 500;
}

/** @throws the error, unless it is a rejection, which leaves nothing to read */
function noneIfRejected(error: unknown): readonly never[] {
  if (isRejection(error)) return [];
  throw error;
}

/** An identifier and its place. */
export interface Place {
  readonly id: string;
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  readonly pointer: string;
}

/** What is at a path below a member, as identifiers, walking into lists on the way. */
export function placesIn(
  holder: object,
  key: string | number,
  path: readonly string[],
  pointer: string,
): Place[] {
  const members = holder as Place['holder'];
  const value = members[key];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((_, i) => placesIn(value, i, path, `${pointer}/${i}`));
  const [name, ...rest] = path;
  // Digits above 9 may be upper or lower case.
  if (name === undefined) return [{ holder: members, key, id: String(value).toLowerCase(), pointer }];
  return Object.hasOwn(value, name) ? placesIn(value, name, rest, `${pointer}/${name}`) : [];
}

/**
 * Replaces the identifiers of references in shown records with the records that the caller may read, as that caller sees
 * them, with one query per reference. It starts from what clients see, so a hidden identifier is never followed.
 */
export async function expand(
  shown: readonly object[],
  references: readonly ReferenceDefinition[],
  scope: TenantScope,
  registry: Resources,
): Promise<void> {
  await Promise.all(
    references.map(async ({ path, to }) => {
      const target = registry.of(to);
      const { definition } = target;
      const places = placesIn({ shown }, 'shown', path.split('.'), '');
      if (definition.disabled.has('get') || places.length === 0) return;
      const ids = places.map(({ id }) => id);
      const records = await readableRecords(target, scope, ids).catch(noneIfRejected);
      const targets = new Map(
        records.map((record) => [record._id.toHexString(), definition.present(record, scope.caller)]),
      );
      for (const { holder, key, id } of places) holder[key] = targets.get(id) ?? holder[key];
    }),
  );
}

/** Maximum number of referred records that a condition may match. */
const MAX_REFERRED = 1_000;

/**
 * The conditions with those on fields of referred records replaced by conditions on the references themselves: they
 * refer to a record that the caller may read and that matches.
 *
 * @throws QueryTooBroadError if too many referred records match one
 */
export async function resolveReferred(
  conditions: readonly Where[],
  scope: TenantScope,
  registry: Resources,
): Promise<readonly Where[]> {
  const resolved: Where[] = [];
  // One after another: a query has many conditions, and other requests wait.
  for (const where of conditions) resolved.push(await resolve(where, scope, registry));
  return resolved;
}

async function resolve(where: Where, scope: TenantScope, registry: Resources): Promise<Where> {
  if ('and' in where) return { and: await resolveReferred(where.and, scope, registry) };
  if ('or' in where) return { or: await resolveReferred(where.or, scope, registry) };
  if ('not' in where) return { not: await resolve(where.not, scope, registry) };
  const { field } = where;
  if (!field.referred) return where;
  const [positive, isComplement] = positiveOf(where);
  const values = await matching(field.referred, positive, scope, registry);
  const path = field.referred.reference.path;
  const condition = { field: { ...field, path }, operator: 'in', values } as const;
  return isComplement ? { not: condition } : condition;
}

/** A condition without negation, and whether the asked one is its complement. */
function positiveOf(condition: Condition): [positive: Condition, isComplement: boolean] {
  const { operator, values } = condition;
  if (operator === 'ne') return [{ ...condition, operator: 'eq' }, true];
  if (operator === 'nin') return [{ ...condition, operator: 'in' }, true];
  if (operator === 'exists' && values[0] === false) return [{ ...condition, values: [true] }, true];
  return [condition, false];
}

/** The identifiers of the records that match, among those that the caller may read. */
async function matching(
  { field, reference }: Referred,
  condition: Condition,
  scope: TenantScope,
  registry: Resources,
): Promise<readonly Types.ObjectId[]> {
  const target = registry.of(reference.to);
  try {
    const conditions = [{ ...condition, field }];
    const filter = { ...target.access.reading(scope), $and: predicatesOf({ conditions }) };
    const found: Stored<object>[] = [];
    const read = { fields: target.parentFields, limit: MAX_REFERRED + 1 };
    for await (const record of target.store.find(filter, read)) found.push(record);
    if (found.length > MAX_REFERRED)
      throw new QueryTooBroadError(`${reference.path}.${field.path}`, MAX_REFERRED);
    return (await permitted(target, scope, found)).map(({ _id }) => _id);
  } catch (error) {
    if (isRejection(error) && !(error instanceof QueryTooBroadError)) return [];
    throw error;
  }
}
