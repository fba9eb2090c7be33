import type { SchemaType } from 'mongoose';
import { type IsolationFields, isOpen } from '../../tenancy/index.js';
import { failIf } from '../options/checks.js';
import type { AnyCrudOptions } from '../options/crud-options.js';
import type { StoreFilter } from '../schema/store-types.js';
import { SERVICE_FIELDS } from './check-fields.js';
import type { CrudDefinition } from './crud-definition.js';

/** Archived records that a read may ask for: only those, or those along with the live ones. */
export const ARCHIVED = ['only', 'include'] as const;

/** The archived records that a read asks for. Without it, a read sees live records only. */
export type Archived = (typeof ARCHIVED)[number];

export interface ArchiveDefinition {
  /** When a record was archived; absent while it is live. */
  readonly field: string;
  /** Predicate of live records; null also matches an absent field. */
  readonly live: StoreFilter;
  /** Predicate of archived records, in a form that a partial index accepts, unlike `$ne`. */
  readonly only: StoreFilter;
}

export function archiveOf({ archive }: AnyCrudOptions): ArchiveDefinition | undefined {
  if (archive === undefined) return undefined;
  const { field } = archive as { field: string };
  return { field, live: { [field]: null }, only: { [field]: { $type: 'date' } } };
}

/** Whoever reads archived records must be one who could archive and restore them. */
export function archivedIsolationOf({ archive, isolation }: CrudDefinition): CrudDefinition['isolation'] {
  const { get, count, update, del } = isolation;
  const writes = { ...update, ...del };
  return archive ? { ...isolation, get: { ...writes, ...get }, count: { ...writes, ...count } } : isolation;
}

/** Whether a query contains `archived`, valid or not: either way it requires a token. */
export function asksForArchived(query: Readonly<Record<string, unknown>>): boolean {
  return 'archived' in query;
}

/** Checks the option `archive`: its field, and that isolation decides whose archived records a caller sees. */
export function checkArchive(definition: CrudDefinition): void {
  const { fail, schema, visible, isolation, archive, archivedIsolation, inputFields } = definition;
  if (!archive) return;
  const { field } = archive;
  const type = schema.path(field) as SchemaType | undefined;
  const { default: preset, immutable } = (type?.options ?? {}) as Readonly<Record<string, unknown>>;
  const isOptional = type?.instance === 'Date' && !type.isRequired && preset === undefined && !immutable;
  const scopes = [visible, ...Object.values(isolation)];
  const { get, count, update, del } = isolation;
  const twofold = fieldOfTwoSources([get, count, update, del]);
  failIf(fail, 'archive', {
    [`.field names "${field}", which is not an optional date of the schema that can change and has no default.`]:
      !isOptional || SERVICE_FIELDS.includes(field),
    [`.field names "${field}", which the input class, visible or isolationFields name as well. Choose another field.`]:
      inputFields.includes(field) || scopes.some((fields) => field in fields),
    [` cannot tell whose archived records are, since "${twofold}" has several sources in get, count, update and del. Give it one.`]:
      twofold !== undefined,
    ' needs to know whose archived records are. Add isolationFields.update and isolationFields.del, such as { tenant: currentTenant }.':
      isOpen(archivedIsolation.get) || isOpen(archivedIsolation.count),
  });
}

/** A field that some of several sets take from different sources, if there is one. */
export function fieldOfTwoSources(actions: readonly IsolationFields[]): string | undefined {
  const all = actions.flatMap((fields) => Object.entries(fields));
  const hasOther = ([field, source]: (typeof all)[number], i: number) =>
    all.slice(0, i).some(([known, first]) => known === field && first !== source);
  return all.find(hasOther)?.[0];
}
