import { isDeepStrictEqual } from 'node:util';
import { mongo, type Schema, type SchemaType } from 'mongoose';
import { isPlainObject } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { plain } from '../definition/output.js';
import type { Stored } from '../options/records.js';
import { applyChange, type StoreChange } from '../store/crud.store.js';
import { type Composite, eachHidden, entryTypeOf, isHidden, schemaOf } from '../definition/hidden-fields.js';
import { isIsolatedBy } from './access.js';
import { valueAt } from './changes.js';

type Fields = Record<string, unknown>;

/** The records that are passed to a beforeUpdate hook. */
interface Draft {
  /** The record after the update. The hook may set its fields. */
  readonly record: Fields;
  readonly previous: Fields;
}

/** The record after a hook has edited the visible part of it; hidden values are kept. */
export async function recordOfDraft(
  { label, presenter, schema }: CrudDefinition,
  values: Fields,
  hook: (draft: Fields) => Promise<void>,
): Promise<Fields> {
  const draft = presenter.present(values);
  const changes = new DraftChanges(schema, draft, presenter.present(values));
  await hook(draft);
  const changed = changes.from(`beforeCreate of ${label}`);
  return withChanges(values, withBytesOf(values, schema, changed)) as Fields;
}

/** The change that results after a hook has edited the updated record. */
export async function changeOfDraft<Entity extends object>(
  definition: CrudDefinition,
  previous: Stored<Entity>,
  { set, unset }: Required<StoreChange>,
  hook: (draft: Draft) => Promise<void>,
): Promise<Required<StoreChange>> {
  const { presenter, schema } = definition;
  const planned = withChanges(previous, [
    ...Object.entries(set),
    ...unset.map((path): PathChange => [path, undefined]),
  ]);
  const record = presenter.present(planned);
  const changes = new DraftChanges(schema, record, presenter.present(planned));
  await hook({ record, previous: presenter.present(previous) });
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
  const changed = changes.from(`beforeUpdate of ${definition.label}`);
  for (const [path, value] of withBytesOf({ planned, previous }, schema, changed)) {
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

/** A path and its new value; undefined or null if it has none any more. */
type PathChange = [path: string, value: unknown];

/** What a hook has changed in a draft, which shows it a record without hidden members. */
class DraftChanges {
  private readonly hidden: [holder: object, name: string][] = [];

  /**
   * @param draft what the hook may change
   * @param before a copy of it, to compare
   */
  constructor(
    private readonly schema: Schema,
    private readonly draft: Fields,
    private readonly before: Fields,
  ) {
    eachHidden(schema, draft, (holder, name) => {
      this.hidden.push([holder, name]);
      showAbsent(holder, name);
    });
  }

  /**
   * The paths that the hook has changed. Lists change as a whole.
   *
   * @throws Error if the entries of a changed list lack hidden members, which would be lost
   */
  from(hook: string): PathChange[] {
    for (const [holder, name] of this.hidden) settleAbsent(holder, name);
    const changes = differences(this.schema, this.before, this.draft, '');
    for (const [path, value] of changes) requireWhole(hook, this.schema, path, value);
    return changes;
  }
}

/** Removes what a hook has set to nothing in the entries of a changed list, and requires the rest of their hidden members. */
function requireWhole(hook: string, schema: Schema, path: string, value: unknown): void {
  const type = schema.path(path) as SchemaType | undefined;
  const inner = type && schemaOf(type);
  if (inner && type.instance === 'Array') {
    const check = (holder: Fields, name: string) => {
      if (!Object.hasOwn(holder, name))
        throw new Error(
          `${hook} changed the list "${path}", and left out the hidden member "${name}" of an entry. Set it in every entry, or to undefined where it has none.`,
        );
      if (holder[name] === undefined || holder[name] === null) Reflect.deleteProperty(holder, name);
    };
    for (const entry of [value].flat(Infinity).filter(isPlainObject))
      eachHidden(inner, entry, (holder, name) => check(holder as Fields, name));
  } else if (isPlainObject(value)) {
    const [holder, parent] = inner ? [inner, ''] : [schema, `${path}.`];
    for (const [name, member] of Object.entries(value)) requireWhole(hook, holder, parent + name, member);
  }
}

/**
 * Gives an object a hidden member that reads as undefined, and that nobody sees who copies or lists the
 * members, so that a hook which deletes it, or sets it to undefined, leaves a trace.
 */
function showAbsent(holder: object, name: string): void {
  const set = (value: unknown) => {
    Object.defineProperty(holder, name, { value, configurable: true, enumerable: true, writable: true });
  };
  Object.defineProperty(holder, name, { get: () => undefined, set, configurable: true });
}

/** Turns the trace into an undefined member. */
function settleAbsent(holder: object, name: string): void {
  const member = Object.getOwnPropertyDescriptor(holder, name);
  if (member?.get) Reflect.deleteProperty(holder, name);
  else if (!member) (holder as Fields)[name] = undefined;
}

/** An object with the changes of its members; it is not changed itself. */
function withChanges(object: object, changes: readonly PathChange[]): object {
  const isRemoved = ([, value]: PathChange) => value === undefined || value === null;
  const [set, unset] = [changes.filter((change) => !isRemoved(change)), changes.filter(isRemoved)];
  const change = { $set: Object.fromEntries(set), $unset: Object.fromEntries(unset) };
  return applyChange(object as Stored<object>, change);
}

/**
 * The paths that differ, and their new values. Subdocuments are compared by member, so that hidden members
 * are kept.
 */
function differences(schema: Schema, before: Fields, after: Fields, parent: string): PathChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): PathChange[] => {
    const [path, one, other] = [parent + name, before[name], after[name]];
    const type = schema.path(path) as SchemaType | undefined;
    const isRemoved = type !== undefined && isHidden(type) && Object.hasOwn(after, name);
    if (!isRemoved && isDeepStrictEqual(one, other)) return [];
    const isSubdocument = schema.pathType(path) === 'nested' || type?.instance === 'Embedded';
    if (!isSubdocument || !isPlainObject(one) || !isPlainObject(other)) return [[path, other]];
    return differences(schema, one, other, `${path}.`);
  });
}
