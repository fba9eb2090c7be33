import type { CrudDefinition } from '../definition/crud-definition.js';
import type { Stored } from '../options/records.js';
import type { StoreChange } from '../store/crud.store.js';
import { entryTypeOf } from '../store/hide-fields.js';
import { isIsolatedBy } from './access.js';
import { valueAt } from './changes.js';
import { withBytesOf } from './draft-bytes.js';
import { DraftChanges, type PathChange, withChanges } from './draft-changes.js';

type Fields = Record<string, unknown>;

/** The records that are passed to a beforeUpdate hook. */
interface Draft {
  /** The record after the update. The hook may set its fields. */
  readonly record: Fields;
  readonly previous: Fields;
}

/** The record after a hook has edited the visible part of it; hidden values are kept. */
export async function recordOfDraft(
  { presenter, schema }: CrudDefinition,
  values: Fields,
  hook: (draft: Fields) => Promise<void>,
): Promise<Fields> {
  const draft = presenter.present(values);
  const changes = new DraftChanges(schema, { draft, before: presenter.present(values) });
  await hook(draft);
  return withChanges(values, withBytesOf(values, schema, changes.from({ record: values }))) as Fields;
}

/**
 * The change that results after a hook has edited the updated record.
 *
 * @param whole reads the previous record with its hidden members; undefined if it has changed meanwhile
 */
export async function changeOfDraft<Entity extends object>(
  definition: CrudDefinition,
  previous: Stored<Entity>,
  { set, unset }: Required<StoreChange>,
  hook: (draft: Draft) => Promise<void>,
  whole: () => Promise<object | undefined>,
): Promise<Required<StoreChange>> {
  const { presenter, schema } = definition;
  const plannedOf = (stored: object) =>
    withChanges(stored, [...Object.entries(set), ...unset.map((path): PathChange => [path, undefined])]);
  const planned = plannedOf(previous);
  const shown = (stored: object) => ({ draft: presenter.present(stored), before: presenter.present(stored) });
  const [after, before] = [shown(planned), shown(previous)];
  const isKept = (path: string) => valueAt(planned, path) === valueAt(previous, path);
  const changes = new DraftChanges(schema, after, before, isKept);
  const record = after.draft;
  await hook({ record, previous: before.draft });
  const isolated = Object.fromEntries(
    Object.values(definition.isolation).flatMap((fields) =>
      Object.keys(fields)
        // A list may change, as long as the caller's own entry is in it, which the write checks.
        .filter((field) => !entryTypeOf(schema.path(field)))
        .map((field) => [field, (previous as Fields)[field]]),
    ),
  );
  keepIsolation(definition, 'beforeUpdate', record, isolated);
  const change = { set: { ...set }, unset: [...unset] };
  const stored = ((changes.touchHidden() ? await whole() : undefined) ?? previous) as Fields;
  const sources = { record: plannedOf(stored) as Fields, previous: stored };
  for (const [path, value] of withBytesOf(sources, schema, changes.from(sources))) {
    const above = Object.keys(change.set).find((known) => path.startsWith(`${known}.`));
    if (above !== undefined) {
      // The update sets the object as a whole, since there was none.
      const member: PathChange = [path.slice(above.length + 1), value];
      change.set[above] = withChanges(change.set[above] as object, [member]);
      continue;
    }
    for (const known of Object.keys(change.set)) {
      if (isAt(known, path)) Reflect.deleteProperty(change.set, known);
    }
    change.unset = change.unset.filter((known) => !isAt(known, path));
    if (value === undefined || value === null) change.unset.push(path);
    else change.set[path] = value;
  }
  return change;
}

/** @throws Error if a hook moved a record out of its scope, or set a field that the schema does not have */
export function keepIsolation(
  { schema, label }: CrudDefinition,
  hook: string,
  record: Fields,
  isolated: Readonly<Fields>,
): void {
  for (const [field, value] of Object.entries(isolated)) {
    if (!isIsolatedBy(schema, field, record[field], value)) {
      throw new Error(`${hook} of ${label} changed "${field}", which isolates the record.`);
    }
  }
  const stray = Object.keys(record).find(
    (field) => !schema.path(field) && schema.pathType(field) !== 'nested',
  );
  if (stray !== undefined)
    throw new Error(`${hook} of ${label} set "${stray}", which the schema does not have.`);
}

function isAt(path: string, name: string): boolean {
  return path === name || path.startsWith(`${name}.`);
}
