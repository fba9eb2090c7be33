import { isDeepStrictEqual } from 'node:util';
import type { Stored } from '../options/records.js';
import type { StoreChange, StoreFilter } from '../store/crud.store.js';

/** Adds to a filter that the record still has the revision that a decision was made on. */
export function unchanged(
  filter: StoreFilter,
  { _id, __v = null }: Stored<object> | { _id: unknown; __v?: null },
): StoreFilter {
  return { ...filter, _id, __v };
}

/** The values that are not what they were. */
export function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(before[name], value)),
  );
}

/** The value at a dotted path. */
export function valueAt(record: unknown, path: string): unknown {
  return path.split('.').reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], record);
}

/** Whether a change changes nothing. */
export function isEmpty({ set, unset }: Required<StoreChange>): boolean {
  return Object.keys(set).length === 0 && unset.length === 0;
}

/** The fields that a change touches, at the top level. */
export function namesOf({ set, unset }: Required<StoreChange>): string[] {
  return [...Object.keys(set), ...unset].map((path) => path.split('.', 1)[0] ?? path);
}
