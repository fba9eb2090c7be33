import { isDeepStrictEqual } from 'node:util';
import type { Schema, SchemaType } from 'mongoose';
import { isPlainObject } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { plain } from '../definition/plain.js';
import type { Stored } from '../options/records.js';
import { applyChange } from '../store/apply-change.js';
import type { StoreChange } from '../store/crud.store.js';

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
  const [before, draft] = [presenter.present(values), presenter.present(values)];
  await hook(draft);
  const changes = differences(schema, before, draft, '');
  const [set, unset] = [
    changes.filter(([, value]) => value !== undefined),
    changes.filter(([, value]) => value === undefined),
  ];
  const change = { $set: Object.fromEntries(set), $unset: Object.fromEntries(unset) };
  return applyChange(values as Stored<object>, change) as Fields;
}

/** The change that results after a hook has edited the updated record. */
export async function changeOfDraft<Entity extends object>(
  definition: CrudDefinition,
  previous: Stored<Entity>,
  { set, unset }: Required<StoreChange>,
  hook: (draft: Draft) => Promise<void>,
): Promise<Required<StoreChange>> {
  const { presenter } = definition;
  const planned = applyChange(previous, {
    $set: set,
    $unset: Object.fromEntries(unset.map((path) => [path, 1])),
  });
  const before = presenter.present(planned);
  const record = presenter.present(planned);
  await hook({ record, previous: presenter.present(previous) });
  const isolated = Object.fromEntries(
    Object.values(definition.isolation).flatMap((fields) =>
      Object.keys(fields).map((field) => [field, (previous as Fields)[field]]),
    ),
  );
  keepIsolation(definition, 'beforeUpdate', record, isolated);
  const change = { set: { ...set }, unset: [...unset] };
  for (const [path, value] of differences(definition.schema, before, record, '')) {
    for (const known of Object.keys(change.set)) {
      if (isAt(known, path)) Reflect.deleteProperty(change.set, known);
    }
    change.unset = change.unset.filter((known) => !isAt(known, path));
    if (value === undefined || value === null) change.unset.push(path);
    else change.set[path] = value;
  }
  return change;
}

/**
 * The paths that differ, and their new values. Subdocuments are compared by member, so that hidden members
 * are kept.
 */
function differences(schema: Schema, before: Fields, after: Fields, parent: string): [string, unknown][] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): [string, unknown][] => {
    const [path, one, other] = [parent + name, before[name], after[name]];
    if (isDeepStrictEqual(one, other)) return [];
    const isSubdocument =
      schema.pathType(path) === 'nested' ||
      (schema.path(path) as SchemaType | undefined)?.instance === 'Embedded';
    if (!isSubdocument || !isPlainObject(one) || !isPlainObject(other)) return [[path, other]];
    return differences(schema, one, other, `${path}.`);
  });
}

/** @throws Error if a hook moved a record out of its scope, or set a field that the schema does not have */
export function keepIsolation(
  { schema, label }: CrudDefinition,
  hook: string,
  record: Fields,
  isolated: Readonly<Fields>,
): void {
  for (const [field, value] of Object.entries(isolated)) {
    if (!isDeepStrictEqual(plain(record[field]), plain(value))) {
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
