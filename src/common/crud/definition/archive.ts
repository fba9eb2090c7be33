import type { IsolationFields } from '../../tenancy/index.js';
import type { AnyCrudOptions, CrudAction } from '../options/crud-options.js';
import type { StoreFilter } from '../store/crud.store.js';

/** Archived records that a read may ask for: nothing else, or those beside the live ones. */
export const ARCHIVED = ['only', 'include'] as const;

/** The archived records that a read asks for; without it, it sees live ones only. */
export type Archived = (typeof ARCHIVED)[number];

/** An archive, and what scopes the reads of it. */
export interface ArchiveDefinition {
  /** When a record was archived; absent while it is live. */
  readonly field: string;
  /** The isolation of the reads: their own, and that of the writes that archive and restore. */
  readonly isolation: Readonly<Record<'get' | 'count', IsolationFields>>;
}

type Isolation = Readonly<Record<CrudAction, IsolationFields>>;

/** The archive that options describe, if they do. */
export function archiveOf({ archive }: AnyCrudOptions, isolation: Isolation): ArchiveDefinition | undefined {
  if (archive === undefined) return undefined;
  const { get, count, update, del } = isolation;
  const writes = { ...update, ...del };
  return {
    // Null, for one, is refused where the options are checked.
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

/** Predicate of live records: null also matches a field that is absent. */
export const liveOnly = (field: string): StoreFilter => ({ [field]: null });

/** Predicate of archived records; in this form, because a partial index takes no `$ne`. */
export const archivedOnly = (field: string): StoreFilter => ({ [field]: { $type: 'date' } });
