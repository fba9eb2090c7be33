import type { Stored } from '../options/records.js';

type Fields = Record<string, unknown>;

/**
 * The record that results from an update of another one: `$set`, then `$unset` and `$inc`, ignoring
 * `$setOnInsert`.
 */
export function applyChange<Entity>(
  previous: Stored<Entity>,
  { $set = {}, $unset = {}, $inc = {} }: Record<string, object>,
): Stored<Entity> {
  const record = { ...previous } as Fields;
  for (const [path, value] of Object.entries($set)) setAt(record, path.split('.'), value);
  for (const path of Object.keys($unset)) setAt(record, path.split('.'), undefined);
  for (const [path, by] of Object.entries($inc)) record[path] = Number(record[path] ?? 0) + Number(by);
  return record as Stored<Entity>;
}

/** Sets a nested value. The objects on the way are copied, so that the previous record is not changed. */
function setAt(target: Fields, [head = '', ...tail]: readonly string[], value: unknown): void {
  if (tail.length > 0) {
    const inner = { ...(target[head] as Fields | undefined) };
    setAt(inner, tail, value);
    target[head] = inner;
  } else if (value === undefined) {
    Reflect.deleteProperty(target, head);
  } else {
    target[head] = value;
  }
}
