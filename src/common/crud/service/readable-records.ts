import { Types } from 'mongoose';
import { isObjectId } from '../../ids/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { Stored } from '../options/records.js';
import type { StoreFilter } from '../store/crud.store.js';
import type { CrudResource } from './crud-resource.js';

interface Reading {
  /** Values that the records must have besides. @default none */
  filter?: StoreFilter;
  /** Whether nothing is read of them but their identifiers and parents. @default false */
  idsOnly?: boolean;
}

/**
 * The records of a resource, among those that others name, that a caller may read: in its scope, and below parents that
 * it may read, too. One query, and one more for each level of parents.
 *
 * @param ids identifiers, any number of times; what is none names no record
 * @throws UnauthenticatedError or its like if the caller lacks a value that the resource is isolated by
 */
export async function readableRecords(
  { access, definition, parents, store }: CrudResource,
  scope: TenantScope,
  ids: Iterable<unknown>,
  { filter = {}, idsOnly = false }: Reading = {},
): Promise<readonly Stored<object>[]> {
  const reading = { ...access.reading(scope), ...filter };
  const named = [...new Set([...ids].map(String))].filter(isObjectId).map((id) => new Types.ObjectId(id));
  if (named.length === 0) return [];
  const parentField = definition.parent ? [definition.parent.field as string] : [];
  const fields = idsOnly ? parentField : undefined;
  const records = await store.findByIds(named, reading, fields);
  return parents.readable(scope, records);
}
