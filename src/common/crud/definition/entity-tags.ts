import type { Types } from 'mongoose';
import { errorMessages, ValidationError } from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { StoreFilter } from '../schema/store-types.js';
import type { CrudAction } from '../options/crud-options.js';
import type { CrudDefinition } from './crud-definition.js';

/** The tags of a conditional header: `*`, or a list of tags with their quotes. */
export type EntityTags = '*' | readonly string[];

/** An entity tag (RFC 9110, section 8.8.3). Tags may contain commas, and empty list entries are ignored (5.6.1.2). */
const TAG = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
const TAGS = new RegExp(`^[\\s,]*${TAG}(?:\\s*,[\\s,]*${TAG})*[\\s,]*$`);
const EACH_TAG = new RegExp(TAG, 'g');

/** A strong validator (RFC 9110, section 8.8.3): the record's revision, even if only a part of the record is shown. */
export function etagOf(record: { __v?: number }): string {
  return `"${record.__v ?? 0}"`;
}

/** Whether isolation lets whoever reaches a record by an action read it, too, and so know its tag. */
export function isReadBy({ isolation }: CrudDefinition, action: CrudAction): boolean {
  return Object.entries(isolation.get).every(([field, source]) => isolation[action][field] === source);
}

/**
 * Reads `If-Match` or `If-None-Match` (RFC 9110, section 13.1).
 *
 * @returns undefined if the header was not sent
 * @throws ValidationError if it is neither `*` nor a list of tags
 */
export function readEntityTags(name: string, header: string | undefined): EntityTags | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  if (TAGS.test(header)) return header.match(EACH_TAG) ?? [];
  throw new ValidationError([{ parameter: name, detail: errorMessages.entityTags(name) }]);
}

/** Whether `If-None-Match` names the record (weak comparison, RFC 9110, section 13.1.2): the client already has it. */
export function isKnown(tags: EntityTags | undefined, record: { __v?: number }): boolean {
  if (tags === undefined) return false;
  return tags === '*' || tags.some((tag) => tag.replace(/^W\//, '') === etagOf(record));
}

/** The revisions that `If-Match` names (RFC 9110, section 13.1.1), ignoring weak tags; undefined for `*`: any will do. */
export function revisionsOf(tags: EntityTags): number[] | undefined {
  if (tags === '*') return undefined;
  return tags.flatMap((tag) => (/^"(0|[1-9]\d{0,14})"$/.test(tag) ? [Number(tag.slice(1, -1))] : []));
}

declare module '../../request/index.js' {
  interface RequestContext {
    /** The `If-Match` of the request, for the record that it is about: that of its path, or any of its resource. */
    precondition?: { readonly entity: object; readonly id?: string; readonly tags: EntityTags };
  }
}

/** The tags that a write requires a record of an entity to have; undefined if any will do. */
export function requiredTags(
  scope: TenantScope,
  entity: object,
  id: string | Types.ObjectId,
  ifMatch?: string | readonly string[],
): EntityTags | undefined {
  if (ifMatch !== undefined) return ifMatch === '*' ? '*' : [ifMatch].flat();
  const { precondition } = scope.context;
  if (precondition?.entity !== entity) return undefined;
  return [undefined, String(id).toLowerCase()].includes(precondition.id) ? precondition.tags : undefined;
}

/** Adds the revisions that the tags name to a filter, so that the check and the write are one operation. */
export function withTags(filter: StoreFilter, tags: EntityTags | undefined): StoreFilter {
  const revisions = tags === undefined ? undefined : revisionsOf(tags);
  if (!revisions) return filter;
  // The tag of a record without a revision is that of revision 0.
  return { ...filter, __v: { $in: revisions.includes(0) ? [...revisions, null] : revisions } };
}
