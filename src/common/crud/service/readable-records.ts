import { HttpException } from '@nestjs/common';
import { Types } from 'mongoose';
import { DomainError } from '../../errors/index.js';
import { isObjectId } from '../../ids/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { Stored } from '../options/records.js';
import type { StoreFilter } from '../store/crud.store.js';
import type { CrudResource } from './crud-resource.js';

interface Reading {
  /** Additional values that the records must have. @default none */
  filter?: StoreFilter;
  /** Whether only identifiers and parents are read. @default false */
  idsOnly?: boolean;
}

/**
 * The records of a resource, among the given ones, that a caller may read: in its scope, and below parents
 * that it may also read. Takes one query, and one more per level of parents.
 *
 * @param ids identifiers, possibly repeated; invalid ones name no record
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

/** Whether an error means that the caller may not read a resource, rather than that something went wrong. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof DomainError) return error.status < 500;
  return error instanceof HttpException && error.getStatus() < 500;
}
