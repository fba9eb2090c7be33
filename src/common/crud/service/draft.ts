import { isDeepStrictEqual } from 'node:util';
import { mongo, type Schema, type SchemaType } from 'mongoose';
import { errorMessages, toPointer, ValidationError } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { plain } from '../definition/output.js';
import type { Stored } from '../options/records.js';
import { applyChange, type Fields, type StoreChange } from '../schema/store-types.js';
import { eachHidden, entryTypeOf, isHiddenType, isWithin, schemaOf } from '../schema/schema-paths.js';
import { isIsolatedBy } from './access.js';

/** A hook that edits the visible part of a record. */
type Edit = (draft: Fields) => Promise<void>;

/** The record after a hook has edited the visible part of it; hidden values are kept. */
export async function recordOfDraft(definition: CrudDefinition, values: Fields, hook: Edit) {
  return withChanges(values, await changesBy(hook, definition, values)) as Fields;
}

/** The change that results after a hook has edited the updated record. */
export async function changeOfDraft<Entity extends object>(
  definition: CrudDefinition,
  previous: Stored<Entity>,
  { set, unset }: Required<StoreChange>,
  hook: (records: { record: Fields; previous: Fields }) => Promise<void>,
): Promise<Required<StoreChange>> {
  const { presenter, schema } = definition;
  const removed = unset.map((path): PathChange => [path, undefined]);
  const planned = withChanges(previous, [...Object.entries(set), ...removed]);
  const isolated = Object.fromEntries(
    Object.values(definition.isolation)
      .flatMap((fields) => Object.entries(fields))
      // What has several values may change, as long as one of the caller's own is in it, which the write checks.
      .filter(
        ([field, { alternatives, isList }]) => !alternatives && !isList && !entryTypeOf(schema.path(field)),
      )
      .map(([field]) => [field, (previous as Fields)[field]]),
  );
  const edit = async (record: Fields) => {
    await hook({ record, previous: presenter.present(previous) });
    requireSameIsolation(definition, 'beforeUpdate', record, isolated);
  };
  const change = { set: { ...set }, unset: [...unset] };
  for (const [path, value] of await changesBy(edit, definition, planned, previous)) {
    const above = Object.keys(change.set).find((known) => path.startsWith(`${known}.`));
    if (above !== undefined) {
      // The update sets the object as a whole, since there was none.
      const member: PathChange = [path.slice(above.length + 1), value];
      change.set[above] = withChanges(change.set[above] as object, [member]);
      continue;
    }
    for (const known of Object.keys(change.set))
      if (isWithin(known, path)) Reflect.deleteProperty(change.set, known);
    change.unset = change.unset.filter((known) => !isWithin(known, path));
    if (value === undefined || value === null) change.unset.push(path);
    else change.set[path] = value;
  }
  return change;
}

/**
 * The changes that a hook makes to the visible part of a record. Meanwhile, hidden members read as undefined, and who
 * copies or lists the members does not see them: one that the hook deletes is undefined afterwards.
 *
 * @param sources records whose bytes it may use
 */
async function changesBy(
  hook: Edit,
  { presenter, schema }: CrudDefinition,
  ...sources: [record: object, ...others: object[]]
): Promise<readonly PathChange[]> {
  const draft = presenter.present(sources[0]);
  const hidden: [holder: Fields, name: string][] = [];
  eachHidden(schema, draft, (holder, name) => {
    hidden.push([holder as Fields, name]);
    const put = (as: object) => void Object.defineProperty(holder, name, { configurable: true, ...as });
    put({ get: () => undefined, set: (value: unknown) => put({ value, enumerable: true, writable: true }) });
  });
  await hook(draft);
  for (const [holder, name] of hidden)
    if (Object.getOwnPropertyDescriptor(holder, name)?.get) Reflect.deleteProperty(holder, name);
    else holder[name] ??= undefined;
  return withBytes(changedPaths(schema, presenter.present(sources[0]), draft), sources);
}

/** @throws Error if a hook moved a record out of its scope, or set a field that the schema does not have */
export function requireSameIsolation(
  { schema, label }: CrudDefinition,
  hook: string,
  record: Fields,
  isolated: Readonly<Fields>,
): void {
  for (const [field, value] of Object.entries(isolated)) {
    if (!isIsolatedBy(schema, field, record[field], value))
      throw new Error(`${hook} of ${label} changed "${field}", which isolates the record.`);
  }
  const unknownPath = Object.keys(record).find(
    (field) => !schema.path(field) && schema.pathType(field) !== 'nested',
  );
  if (unknownPath !== undefined)
    throw new Error(`${hook} of ${label} set "${unknownPath}", which the schema does not have.`);
}

/** A path and its new value; undefined or null if it has none any more. */
type PathChange = readonly [path: string, value: unknown];

/** The paths that a hook has changed. Objects are compared by member, so that hidden ones are kept; lists and maps change as a whole. */
function changedPaths(schema: Schema, before: Fields, after: Fields, parent = ''): PathChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): PathChange[] => {
    const [path, one, other] = [parent + name, before[name], after[name]];
    const type = schema.path(path) as SchemaType | undefined;
    // It was not shown, so it is there only if the hook has set it.
    const setsHidden = type !== undefined && isHiddenType(type) && Object.hasOwn(after, name);
    if (!setsHidden && isDeepStrictEqual(one, other)) return [];
    const isObject = schema.pathType(path) === 'nested' || type?.instance === 'Embedded';
    if (isObject && isPlainObject(one) && isPlainObject(other))
      return changedPaths(schema, one, other, `${path}.`);
    if (type && entriesOf(one).length > 0) requireHidden(type, path, other);
    return [[path, other]];
  });
}

/** Removes hidden members that a hook set to nothing in changed entries. @throws ValidationError if one would be lost */
function requireHidden(type: SchemaType, path: string, value: unknown): void {
  const schema = schemaOf(type);
  if (!schema) return;
  for (const entry of entriesOf(value).filter(isPlainObject))
    eachHidden(schema, entry, (holder, name) => {
      if (!Object.hasOwn(holder, name))
        throw new ValidationError([
          { pointer: toPointer(path.split('.')), detail: errorMessages.hiddenEntries(path) },
        ]);
      const member = (holder as Fields)[name];
      if (member === undefined || member === null) Reflect.deleteProperty(holder, name);
    });
}

/** The entries of a list at any depth, or of a map, or the members of an object. */
function entriesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flat(Infinity);
  if (value instanceof Map) return [...(value as Map<string, unknown>).values()];
  return isPlainObject(value) ? Object.values(value) : [];
}

/** The changes with the bytes of a record in place of their base64, which a hook sees and Mongoose would store. */
function withBytes(changes: readonly PathChange[], record: object): readonly PathChange[] {
  if (changes.length === 0) return changes;
  const known = new Map(bytesIn(record).map((bytes) => [plain(bytes), bytes]));
  const restored = (value: unknown): unknown => {
    if (typeof value === 'string') return known.get(value) ?? value;
    if (Array.isArray(value)) return value.map(restored);
    if (!isPlainObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, restored(member)]));
  };
  return known.size === 0 ? changes : changes.map(([path, value]) => [path, restored(value)] as const);
}

/** Every value of bytes in another one. */
function bytesIn(value: unknown): unknown[] {
  const isBytes = value instanceof mongo.Binary || value instanceof Uint8Array;
  return isBytes ? [value] : entriesOf(value).flatMap(bytesIn);
}

/** An object with the changes of its members; it is not changed itself. */
function withChanges(object: object, changes: readonly PathChange[]): object {
  const $set = Object.fromEntries(changes.map(([path, value]) => [path, value ?? undefined]));
  return applyChange(object as Stored<object>, { $set });
}
