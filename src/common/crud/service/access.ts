import { Types } from 'mongoose';
import { ClaimRequiredError, InvalidIdError } from '../../errors/index.js';
import { isObjectId } from '../../ids/index.js';
import { assertScope, type TenantScope } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import type { StoreFilter } from '../store/crud.store.js';

/** The records that a filter reaches. */
interface Reach {
  /** Whether records that `visible` excludes are reached, too. @default false */
  hidden?: boolean;
}

/** Makes every predicate of a resource: no other code turns a scope into a filter. */
export class Access {
  constructor(private readonly definition: CrudDefinition) {}

  /**
   * The values of the fields that isolate an action, of the store's types.
   *
   * @throws UnauthenticatedError, TenantRequiredError or ClaimRequiredError if the caller lacks one, and Error if the scope is none
   */
  fields(action: CrudAction, scope: TenantScope): Record<string, unknown> {
    assertScope(scope);
    const values = scope.valuesOf(this.definition.isolation[action]);
    return Object.fromEntries(
      Object.entries(values).map(([field, value]) => [field, this.cast(field, value)]),
    );
  }

  /** The filter of the records that a caller reaches with an action. */
  filter(
    action: CrudAction,
    scope: TenantScope,
    id?: string | Types.ObjectId,
    { hidden = false }: Reach = {},
  ): StoreFilter {
    return {
      ...(hidden ? {} : this.definition.visible),
      ...this.fields(action, scope),
      ...(id !== undefined && { _id: objectId(id) }),
    };
  }

  /** A value as the store holds it in a field. @throws ClaimRequiredError if the field cannot hold it */
  cast(field: string, value: unknown): unknown {
    try {
      return this.definition.schema.path(field).cast(value) as unknown;
    } catch {
      throw new ClaimRequiredError(field);
    }
  }
}

function objectId(id: string | Types.ObjectId): Types.ObjectId {
  if (typeof id === 'string' && !isObjectId(id)) throw new InvalidIdError('id');
  return new Types.ObjectId(id);
}
