import type { Types } from 'mongoose';
import type { TenantScope } from '../../tenancy/index.js';
import { type EntityTags, revisionsOf } from '../definition/entity-tags.js';
import type { StoreFilter } from '../store/crud.store.js';

interface Precondition {
  readonly id: string;
  readonly tags: EntityTags;
}

const preconditions = new WeakMap<TenantScope, Precondition>();

/**
 * Binds the `If-Match` of a request to its scope, for the record that it is about, so that an override cannot
 * lose it by leaving out an option.
 */
export function requireTags(scope: TenantScope, id: string, tags: EntityTags): void {
  preconditions.set(scope, { id, tags });
}

/** The tags that a write requires the record to have; undefined if any will do. */
export function requiredTags(
  scope: TenantScope,
  id: string | Types.ObjectId,
  ifMatch?: string | readonly string[],
): EntityTags | undefined {
  if (ifMatch !== undefined) return ifMatch === '*' ? '*' : [ifMatch].flat();
  const precondition = preconditions.get(scope);
  return precondition?.id === String(id).toLowerCase() ? precondition.tags : undefined;
}

/** Adds the revisions that the tags name to a filter, so that the check and the write are one operation. */
export function withTags(filter: StoreFilter, tags: EntityTags | undefined): StoreFilter {
  const revisions = tags === undefined ? undefined : revisionsOf(tags);
  if (!revisions) return filter;
  // The tag of a record without a revision is that of revision 0.
  return { ...filter, __v: { $in: revisions.includes(0) ? [...revisions, null] : revisions } };
}
