import { mongo, type Schema, type SchemaType } from 'mongoose';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { Stored } from '../options/records.js';
import type { StoreChange } from '../store/crud.store.js';
import { entryTypeOf, type Composite } from '../store/hide-fields.js';
import { isPlainObject } from '../../fields/index.js';
import { plain } from '../definition/presenter.js';
import { isIsolatedBy } from './access.js';
import { valueAt } from './changes.js';
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

/**
 * The changes with the bytes that a record had. A hook sees them in base64, and Mongoose would store that text
 * in their place if the hook has changed something beside them in a list or a map.
 */
function withBytesOf(record: object, schema: Schema, changes: readonly PathChange[]): readonly PathChange[] {
  if (changes.length === 0) return changes;
  const known = new Map(bytesIn(record).map((bytes) => [plain(bytes), bytes]));
  if (known.size === 0) return changes;

  const ofType = (type: SchemaType, value: unknown): unknown => {
    if (type.instance === 'Buffer') return known.get(value) ?? value;
    const { embeddedSchemaType, $__schemaType: valueType, schema: inner } = type as SchemaType & Composite;
    if (Array.isArray(value)) {
      // Mongoose's type of a list of objects is that of its entries as well.
      const entries = embeddedSchemaType ?? type;
      return value.map((entry) => ofType(entries, entry));
    }
    if (!isPlainObject(value)) return value;
    if (valueType) {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, ofType(valueType, one)]));
    }
    return inner ? withChanges(value, membersOf(inner, value, '')) : value;
  };
  const membersOf = (holder: Schema, object: object, parent: string): PathChange[] =>
    Object.entries(holder.paths)
      .filter(([path]) => path.startsWith(parent))
      .map(([path, type]) => [path.slice(parent.length), type] as const)
      .map(([path, type]): PathChange => [path, ofType(type, valueAt(object, path))])
      .filter(([, value]) => value !== undefined);

  return changes.map(([path, value]): PathChange => {
    const type = schema.path(path) as SchemaType | undefined;
    if (type) return [path, ofType(type, value)];
    return [path, isPlainObject(value) ? withChanges(value, membersOf(schema, value, `${path}.`)) : value];
  });
}

/** Every value of bytes in another one. */
function bytesIn(value: unknown): (mongo.Binary | Uint8Array)[] {
  if (value instanceof mongo.Binary || value instanceof Uint8Array) return [value];
  if (Array.isArray(value)) return value.flatMap(bytesIn);
  if (value instanceof Map) return [...value.values()].flatMap(bytesIn);
  return isPlainObject(value) ? Object.values(value).flatMap(bytesIn) : [];
}
