import { isDeepStrictEqual } from 'node:util';
import type { Type } from '@nestjs/common';
import {
  BodyTooLargeError,
  errorMessages,
  ForbiddenFieldError,
  toPointer,
  ValidationError,
} from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import { fieldAt, type FieldDescription, fieldsOf, isPlainObject, mergePatch } from '../../fields/index.js';
import { isLeftToCode } from '../definition/check-fields.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { KIND, type Kinds } from '../definition/kinds.js';
import { plain } from '../definition/output.js';
import { defaultOf, nodesOf, type SchemaNodes } from '../schema/schema-paths.js';
import type { Fields, StoreChange } from '../schema/store-types.js';
import { type Access, isIsolatedBy } from './access.js';

export function changedValues(before: Readonly<Fields>, after: Readonly<Fields>): Fields {
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(before[name], value)),
  );
}

/** The top-level fields that a change affects. */
export function namesOf({ set, unset }: Required<StoreChange>): string[] {
  return [...Object.keys(set), ...unset].map((path) => path.split('.', 1)[0] ?? path);
}

/** The change without the identifier that the record has anyway. @throws Error if it affects that or the revision */
export function withoutIdentity(label: string, { set, unset }: Required<StoreChange>, id: unknown) {
  const { _id: given = id, ...others } = set;
  const isSame = String(given).toLowerCase() === String(id);
  const change = { set: isSame ? others : set, unset };
  const name = namesOf(change).find((candidate) => candidate === '_id' || candidate === '__v');
  if (name) throw new Error(`A change of ${label} affects "${name}", which only the store sets.`);
  return change;
}

/** @throws ValidationError, or Error if no client may set the field, if a change would move the record out of its scope */
export function requireSameScope(
  { access, definition }: { access: Access; definition: CrudDefinition },
  action: 'update' | 'del',
  scope: TenantScope,
  change: Required<StoreChange>,
): void {
  const names = namesOf(change).filter((name) => name in definition.isolation[action]);
  if (names.length === 0) return;
  const values = access.isolationValues(action, scope);
  // Callers who are exempt may move it, but not out of every scope.
  if (scope.request)
    rejectMissingFields(names.filter((name) => !(name in values) && change.set[name] == null));
  for (const field of names.filter((name) => name in values)) {
    if (isIsolatedBy(definition.schema, field, change.set[field], values[field])) continue;
    const pointer = toPointer([field]);
    if (definition.isolation[action][field]?.isList)
      throw new ForbiddenFieldError([{ pointer, detail: errorMessages.forbiddenValue(field) }]);
    if (definition.inputFields.includes(field))
      throw new ValidationError([{ pointer, detail: errorMessages.ownEntry(field) }]);
    throw new Error(`A change of ${definition.label} sets "${field}", which isolates the record.`);
  }
}

/**
 * Of a text that may be empty, the store does not know that it is required.
 *
 * @throws ValidationError if a change takes away what is required, and Error if it sets a field of another kind
 */
export function requireFields(
  definition: CrudDefinition,
  { set, unset }: Required<StoreChange>,
  current?: object,
): void {
  const { entity, kinds } = definition;
  requireOwnFields(definition, set, current);
  const nulls = Object.keys(set).filter((path) => set[path] === null);
  const types = [entity, kindOf(kinds, current) ?? entity];
  const isRequired = (path: string) => types.some((one) => fieldAt(one, path)?.required);
  rejectMissingFields([...unset, ...nulls].filter(isRequired));
}

/** {@link requireFields} of a new record, which code may have left without what the store does not miss. */
export function requireComplete({ entity, kinds, schema }: CrudDefinition, record: object): void {
  const types = [entity, kindOf(kinds, record) ?? entity];
  rejectMissingFields([...new Set(types.flatMap((type) => missingFields(type, nodesOf(schema), record)))]);
}

/** @throws Error if code sets a field that only records of other kinds have */
export function requireOwnFields({ inputs, kinds, label }: CrudDefinition, set: object, record?: object) {
  const type = kindOf(kinds, record);
  if (!type) return;
  const isOfOthers = (path: string) => fieldAt(inputs.create, path) && !fieldAt(type, path);
  const foreignPath = Object.keys(set).find(isOfOthers);
  if (foreignPath === undefined) return;
  throw new Error(`Code sets "${foreignPath}" of ${label}, which only records of other kinds have.`);
}

/** The class of a record's kind, if records are of several. */
function kindOf(kinds: Kinds | undefined, record: object | undefined): Type<object> | undefined {
  return kinds?.get((record as Fields | undefined)?.[KIND] as string);
}

/** @param nodes members of the record, or of the object in it. @param parent path of that object, and a dot */
function missingFields(
  entity: Type<object>,
  nodes: SchemaNodes | undefined,
  record: object,
  parent = '',
): string[] {
  return fieldsOf(entity).flatMap((field) => {
    const { name, nested } = field;
    const [path, node] = [parent + name, nodes?.get(name)];
    const value = (record as Fields)[name] ?? undefined;
    if (value === undefined) return isLeftToCode(field, node?.type) ? [path] : [];
    const within = (entry: unknown, at: string) =>
      nested && isPlainObject(entry) ? missingFields(nested, node?.members, entry, `${at}.`) : [];
    return Array.isArray(value)
      ? value.flatMap((entry, i) => within(entry, `${path}.${i}`))
      : within(value, path);
  });
}

function rejectMissingFields(paths: readonly string[]): void {
  const [first, ...others] = paths.map((path) => ({
    pointer: toPointer(path.split('.')),
    detail: errorMessages.requiredField(path),
  }));
  if (first) throw new ValidationError([first, ...others]);
}

/** Whether a merge patch contains objects, whose effect depends on the current record. */
export function needsPrevious(changes: object): boolean {
  return Object.values(changes).some(isPlainObject);
}

/** The fields that a merge patch merges, with their complete values; undefined if there are none. */
export function mergedFields({ writeOnly }: CrudDefinition, changes: object, previous: Fields) {
  const merged = Object.entries(changes)
    .filter(([name, value]) => isPlainObject(value) && !writeOnly.has(name))
    .map(([name, value]) => [name, mergePatch(previous[name], value)] as const);
  return merged.length > 0 ? Object.fromEntries(merged) : undefined;
}

/** @throws BodyTooLargeError if fields have been merged into more than a body can have, and have grown */
export function rejectGrowth(bodyLimit: number, previous: object, merged: object): void {
  const size = (fields: object) => Buffer.byteLength(JSON.stringify(fields));
  const after = size(merged);
  if (after <= bodyLimit) return;
  const names = Object.keys(merged);
  const before = Object.fromEntries(Object.entries(previous).filter(([name]) => names.includes(name)));
  if (after > size(before)) throw new BodyTooLargeError(bodyLimit, errorMessages.mergedTooLarge(bodyLimit));
}

/**
 * The change that a merge patch (RFC 7396) makes: exactly the values that were sent, by dotted path, so that
 * hidden neighbours of a nested value are kept. Null removes a field or resets it to its default.
 */
export function planChange(definition: CrudDefinition, changes: object, previous: object | undefined) {
  const set: Fields = {};
  const unset: string[] = [];
  const { kinds, schema, writeOnly, updateReader } = definition;

  function put(path: string, value: unknown, field: FieldDescription | undefined, before: unknown): void {
    if (value === undefined) return;
    if (value === null) {
      const back = defaultOf(schema.path(path), previous ?? null);
      if (back === undefined) unset.push(path);
      else set[path] = back;
    } else if (!isPlainObject(value)) {
      set[path] = value;
    } else if (field?.kind === 'nested' && field.nested && isPlainObject(before)) {
      const members = new Map(fieldsOf(field.nested).map((one) => [one.name, one]));
      for (const [name, inner] of Object.entries(value))
        put(`${path}.${name}`, inner, members.get(name), before[name]);
    } else {
      set[path] = mergePatch(plain(before), value);
    }
  }

  const fields = new Map(updateReader.fields.map((field) => [field.name, field]));
  for (const [name, value] of Object.entries(changes)) {
    const before = (previous as Fields | undefined)?.[name];
    const isKept = kinds && name === KIND && value === before;
    if (!isKept && !writeOnly.has(name)) put(name, value, fields.get(name), before);
  }
  return { set, unset };
}
