import { Types } from 'mongoose';
import { ClaimRequiredError, InvalidIdError } from '../../errors/index.js';
import { isObjectId } from '../../ids/index.js';
import {
  assertScope,
  type IsolationFields,
  type IsolationSource,
  type TenantScope,
} from '../../tenancy/index.js';
import { type Archived, archivedOnly, isolationOfAction, liveOnly } from '../definition/archive.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import { predicatesOf } from '../query/filter-of.js';
import type { ListQuery, ReadQuery } from '../query/list-query.js';
import type { StoreFilter } from '../store/crud.store.js';

/** Makes every predicate of a resource. No other code turns a scope into a filter. */
export class Access {
  constructor(private readonly definition: CrudDefinition) {}

  /**
   * The values of the fields that isolate an action, in the store's types.
   *
   * @throws UnauthenticatedError, TenantRequiredError or ClaimRequiredError if the caller lacks one, and
   * Error if the scope is not one
   */
  fields(action: CrudAction, scope: TenantScope): Record<string, unknown> {
    return this.valuesOf(this.definition.isolation[action], scope);
  }

  /**
   * The filter of the records that a caller can reach with an action.
   *
   * @throws UnauthenticatedError or its like if the scope lacks a value, and Error if there is no archive to
   * read
   */
  filter(
    action: CrudAction,
    scope: TenantScope,
    id?: string | Types.ObjectId,
    { archived }: ReadQuery = {},
  ): StoreFilter {
    const isolation = isolationOfAction(this.definition, action, archived !== undefined);
    return {
      ...this.there(archived),
      ...this.valuesOf(isolation, scope),
      ...(id !== undefined && { _id: objectId(id) }),
    };
  }

  /** The filter of the records that a query selects among those that a caller can reach with an action. */
  listing(action: 'get' | 'count', scope: TenantScope, query: ListQuery): StoreFilter {
    const filter = this.filter(action, scope, undefined, query);
    const predicates = predicatesOf(query);
    // Next to the scope, never among its members, so that no condition can replace one.
    return predicates.length === 0 ? filter : { ...filter, $and: predicates };
  }

  /**
   * The filter of the records that a caller may read from another resource, as their referrer or child. It
   * includes the records' parent only if the request names one; `Parents` decides whether that parent can be
   * read.
   */
  reading(scope: TenantScope): StoreFilter {
    const { isolation, parent } = this.definition;
    const isNamed = ([field, { param }]: [string, IsolationSource]) =>
      field !== parent?.field || param !== parent.param || param in scope.params;
    const fields = Object.fromEntries(Object.entries(isolation.get).filter(isNamed));
    return { ...this.there(), ...this.valuesOf(fields, scope) };
  }

  /** Predicate of every record that can be read, whoever owns it. */
  private there(archived?: Archived): StoreFilter {
    const { archive, label, visible } = this.definition;
    if (!archive && archived !== undefined) {
      throw new Error(`${label} has no archive. Give its options archive: { field }, or leave archived out.`);
    }
    if (!archive || archived === 'include') return visible;
    const among = archived === 'only' ? archivedOnly : liveOnly;
    return { ...visible, ...among(archive.field) };
  }

  private valuesOf(sources: IsolationFields, scope: TenantScope): Record<string, unknown> {
    assertScope(scope);
    const values = Object.entries(scope.valuesOf(sources));
    return Object.fromEntries(
      values.map(([field, value]) => [field, this.cast(field, value, sources[field]?.param)]),
    );
  }

  /**
   * Converts a value to the type that the store has for a field.
   *
   * @param param path parameter that the value comes from
   * @throws ClaimRequiredError, or InvalidIdError for the parameter, if the field cannot hold the value
   */
  cast(field: string, value: unknown, param?: string): unknown {
    const type = this.definition.schema.path(field);
    try {
      return type.cast(value) as unknown;
    } catch {
      if (param !== undefined && type.instance === 'ObjectId') throw new InvalidIdError(param);
      throw new ClaimRequiredError(field);
    }
  }
}

/**
 * The identifier of one record. Without this check, a missing id, such as that of a handler that misspells
 * its `@Param`, would match any record of the scope.
 *
 * @throws InvalidIdError
 */
export function objectId(id: unknown): Types.ObjectId {
  if (id instanceof Types.ObjectId) return id;
  if (typeof id !== 'string' || !isObjectId(id)) throw new InvalidIdError('id');
  return new Types.ObjectId(id);
}
