import type { Types } from 'mongoose';
import type { TenantScope } from '../../tenancy/index.js';
import { type EntityTags, revisionsOf } from '../definition/entity-tags.js';
import type { StoreFilter } from '../store/crud.store.js';

declare module '../../tenancy/tenant-scope.js' {
  interface ScopeContext {
    /** The `If-Match` of the request, for the record that it is about. */
    precondition?: { readonly id: string; readonly tags: EntityTags };
  }
}

/** The tags that a write requires the record to have; undefined if any will do. */
export function requiredTags(
  scope: TenantScope,
  id: string | Types.ObjectId,
  ifMatch?: string | readonly string[],
): EntityTags | undefined {
  if (ifMatch !== undefined) return ifMatch === '*' ? '*' : [ifMatch].flat();
  const { precondition } = scope.context;
  return precondition?.id === String(id).toLowerCase() ? precondition.tags : undefined;
}

/** Adds the revisions that the tags name to a filter, so that the check and the write are one operation. */
export function withTags(filter: StoreFilter, tags: EntityTags | undefined): StoreFilter {
  const revisions = tags === undefined ? undefined : revisionsOf(tags);
  if (!revisions) return filter;
  // The tag of a record without a revision is that of revision 0.
  return { ...filter, __v: { $in: revisions.includes(0) ? [...revisions, null] : revisions } };
}
