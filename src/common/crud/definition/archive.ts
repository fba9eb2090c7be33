import type { IsolationFields } from '../../tenancy/index.js';
import type { AnyCrudOptions, CrudAction } from '../options/crud-options.js';
import type { StoreFilter } from '../store/crud.store.js';

/** Archived records that a read may ask for: only those, or those along with the live ones. */
export const ARCHIVED = ['only', 'include'] as const;

/** The archived records that a read asks for. Without it, a read sees live records only. */
export type Archived = (typeof ARCHIVED)[number];

/** An archive, and the isolation of its reads. */
export interface ArchiveDefinition {
  /** When a record was archived; absent while it is live. */
  readonly field: string;
  /**
   * Isolation of the reads of archived records: the read's own fields plus those of the writes that archive
   * and restore.
   */
  readonly isolation: Readonly<Record<'get' | 'count', IsolationFields>>;
}

type Isolation = Readonly<Record<CrudAction, IsolationFields>>;

/** The archive that the options describe, if any. */
export function archiveOf({ archive }: AnyCrudOptions, isolation: Isolation): ArchiveDefinition | undefined {
  if (archive === undefined) return undefined;
  const { get, count, update, del } = isolation;
  const writes = { ...update, ...del };
  return {
    // Invalid values, such as null, are rejected when the options are checked.
    field: (archive as { field: string } | null)?.field as string,
    isolation: { get: { ...writes, ...get }, count: { ...writes, ...count } },
  };
}

/** The fields that scope an action. */
export function isolationOfAction(
  { isolation, archive }: { isolation: Isolation; archive?: ArchiveDefinition },
  action: CrudAction,
  asksForArchived: boolean,
): IsolationFields {
  const reads = asksForArchived && (action === 'get' || action === 'count');
  return reads && archive ? archive.isolation[action] : isolation[action];
}

/** Predicate of live records; null also matches an absent field. */
export const liveOnly = (field: string): StoreFilter => ({ [field]: null });

/** Predicate of archived records, in this form because a partial index does not accept `$ne`. */
export const archivedOnly = (field: string): StoreFilter => ({ [field]: { $type: 'date' } });
