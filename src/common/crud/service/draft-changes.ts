import { isDeepStrictEqual } from 'node:util';
import type { Schema, SchemaType } from 'mongoose';
import { isPlainObject } from '../../fields/index.js';
import type { Stored } from '../options/records.js';
import { applyChange } from '../store/apply-change.js';
import { hidesFields, schemaOf } from '../store/hide-fields.js';
import { valueAt } from './changes.js';

type Fields = Record<string, unknown>;

/** A path and its new value; undefined if it has none any more. */
export type PathChange = [path: string, value: unknown];

/**
 * Path in the record that an entry of a list came from, such as `items.0`. A symbol goes with a copy by spread
 * syntax, and is no member to anyone else.
 */
const ORIGIN = Symbol('origin');

/**
 * What a hook has changed in a draft. It edits, moves, copies and removes the entries of lists without seeing
 * their hidden members, which stay with the entry: that is the same object, or a copy of it by spread syntax.
 */
export class DraftChanges {
  private readonly schemas = new Map<string, Schema>();

  /**
   * @param before the draft as the hook gets it, to compare
   * @param draft what the hook gets
   */
  constructor(
    private readonly schema: Schema,
    private readonly before: Fields,
    private readonly draft: Fields,
  ) {
    for (const record of [before, draft]) this.markLists(schema, record, '');
  }

  /** Whether a list has changed whose entries have hidden members. */
  touchHidden(): boolean {
    return differences(this.schema, this.before, this.draft, '').some(([path]) =>
      hidingEntries(this.schema, path),
    );
  }

  /**
   * The paths that the hook has changed. Lists change as a whole.
   *
   * @param source the record before the hook, with its hidden members
   */
  from(source: Fields): PathChange[] {
    return this.kept(this.schema, differences(this.schema, this.before, this.draft, ''), source);
  }

  /** Changes of an object, with what the hook did not see of the entries in its lists. */
  private kept(schema: Schema, changes: readonly PathChange[], source: Fields): PathChange[] {
    return changes.map(([path, value]) => {
      const entries = hidingEntries(schema, path);
      return [path, entries ? this.keptEntries(entries, value, source) : value];
    });
  }

  private keptEntries(schema: Schema, value: unknown, source: Fields): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.keptEntries(schema, entry, source));
    if (!isPlainObject(value)) return value;
    const origin = this.originOf(schema, value);
    const [shown, stored] = [this.before, source].map((record) => origin && valueAt(record, origin));
    const isKnown = isPlainObject(shown) && isPlainObject(stored);
    const changes = differences(schema, isKnown ? shown : {}, value, '');
    return withChanges(isKnown ? stored : {}, this.kept(schema, changes, source));
  }

  private originOf(schema: Schema, entry: Entry): string | undefined {
    const { [ORIGIN]: origin } = entry;
    return origin !== undefined && this.schemas.get(origin) === schema ? origin : undefined;
  }

  private markLists(schema: Schema, object: Fields, parent: string): void {
    for (const [name, type] of Object.entries(schema.paths)) {
      const [inner, value, path] = [schemaOf(type), valueAt(object, name), parent + name];
      if (!inner || !hidesFields(inner)) continue;
      if (type.instance === 'Array') this.markEntries(inner, value, path);
      else if (isPlainObject(value)) this.markLists(inner, value, `${path}.`);
    }
  }

  private markEntries(schema: Schema, value: unknown, path: string): void {
    if (Array.isArray(value)) {
      value.forEach((entry, i) => this.markEntries(schema, entry, `${path}.${i}`));
    } else if (isPlainObject(value)) {
      (value as Entry)[ORIGIN] = path;
      this.schemas.set(path, schema);
      this.markLists(schema, value, `${path}.`);
    }
  }
}

type Entry = Fields & { [ORIGIN]?: string };

/** The schema of the objects in a list, if it hides members of them. */
function hidingEntries(schema: Schema, path: string): Schema | undefined {
  const type = schema.path(path) as SchemaType | undefined;
  const entries = type?.instance === 'Array' ? schemaOf(type) : undefined;
  return entries && hidesFields(entries) ? entries : undefined;
}

/** An object with the changes of its members; it is not changed itself. */
export function withChanges(object: object, changes: readonly PathChange[]): object {
  const [set, unset] = [
    changes.filter(([, value]) => value !== undefined),
    changes.filter(([, value]) => value === undefined),
  ];
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
    if (isDeepStrictEqual(one, other)) return [];
    const isSubdocument =
      schema.pathType(path) === 'nested' ||
      (schema.path(path) as SchemaType | undefined)?.instance === 'Embedded';
    if (!isSubdocument || !isPlainObject(one) || !isPlainObject(other)) return [[path, other]];
    return differences(schema, one, other, `${path}.`);
  });
}
