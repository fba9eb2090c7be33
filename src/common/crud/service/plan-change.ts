import type { Type } from '@nestjs/common';
import { type FieldDescription, fieldsOf, isPlainObject, mergePatch } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { plain } from '../definition/presenter.js';
import type { StoreChange } from '../store/crud.store.js';

type Fields = Readonly<Record<string, unknown>>;

/** Whether a merge patch contains objects, whose effect depends on the current record. */
export function needsPrevious(changes: object): boolean {
  return Object.values(changes).some(isPlainObject);
}

/** The fields that a merge patch merges, with their complete values, if there are any. */
export function mergedFields(
  definition: CrudDefinition,
  changes: object,
  previous: Fields,
): Fields | undefined {
  const merged = Object.entries(changes)
    .filter(([name, value]) => isPlainObject(value) && !definition.writeOnly.has(name))
    .map(([name, value]) => [name, mergePatch(previous[name], value)] as const);
  return merged.length > 0 ? Object.fromEntries(merged) : undefined;
}

/**
 * The change that a merge patch (RFC 7396) makes: exactly the values that were sent, by dotted path, so that
 * hidden neighbours of a nested value are kept. Null removes a field or resets it to its default.
 */
export function planChange(
  definition: CrudDefinition,
  changes: object,
  previous: object | undefined,
): Required<StoreChange> {
  const set: Record<string, unknown> = {};
  const unset: string[] = [];
  const { schema, writeOnly, updateReader } = definition;

  function put(path: string, value: unknown, field: FieldDescription | undefined, before: unknown): void {
    if (value === undefined) return;
    if (value === null) {
      const back = defaultOf(path);
      if (back === undefined) unset.push(path);
      else set[path] = back;
    } else if (!isPlainObject(value)) {
      set[path] = value;
    } else if (field?.kind === 'nested' && field.nested && isPlainObject(before)) {
      const members = membersOf(field.nested);
      for (const [name, inner] of Object.entries(value)) {
        put(`${path}.${name}`, inner, members.get(name), before[name]);
      }
    } else {
      set[path] = mergePatch(plain(before), value);
    }
  }

  function defaultOf(path: string): unknown {
    const type = schema.path(path) as { getDefault?: (scope: null, init: boolean) => unknown } | undefined;
    return type?.getDefault?.(null, false) ?? undefined;
  }

  const fields = new Map(updateReader.fields.map((field) => [field.name, field]));
  for (const [name, value] of Object.entries(changes)) {
    if (!writeOnly.has(name)) put(name, value, fields.get(name), (previous as Fields | undefined)?.[name]);
  }
  return { set, unset };
}

function membersOf(type: Type<object>): ReadonlyMap<string, FieldDescription> {
  return new Map(fieldsOf(type).map((field) => [field.name, field]));
}
