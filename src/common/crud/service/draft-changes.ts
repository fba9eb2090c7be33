import { isDeepStrictEqual } from 'node:util';
import type { Schema, SchemaType } from 'mongoose';
import { isPlainObject } from '../../fields/index.js';
import type { Stored } from '../options/records.js';
import { applyChange } from '../store/apply-change.js';
import { eachHidden, hidesFields, isHidden, schemaOf } from '../store/hide-fields.js';
import { valueAt } from './changes.js';

type Fields = Record<string, unknown>;

/** A path and its new value; undefined or null if it has none any more. */
export type PathChange = [path: string, value: unknown];

/** A record as a hook sees it. */
interface Shown {
  /** The record as the hook gets it. */
  readonly draft: Fields;
  /** A copy of it, to compare. */
  readonly before: Fields;
}

/** Where an entry of a list came from. */
interface Origin {
  /** The record that had it. */
  readonly of: 'record' | 'previous';
  /** Its path there, such as `items.0`. */
  readonly path: string;
  readonly schema: Schema;
}

/** The records before a hook, with their hidden members. */
export interface Sources {
  readonly record: Fields;
  readonly previous?: Fields;
}

/**
 * What a hook has changed in a draft. It edits, moves, copies and removes the entries of lists without seeing
 * their hidden members, which stay with the entry: that is the same object, or a copy of it by spread syntax.
 */
export class DraftChanges {
  /**
   * Has the key of an entry's origin. A symbol goes with a copy by spread syntax, and is no member to anyone
   * else. It is one of these drafts alone: a hook may have kept entries of other records.
   */
  private readonly mark = Symbol('origin');
  private readonly origins = new Map<string, Origin>();
  private readonly hidden: [holder: object, name: string][] = [];

  /**
   * @param record what the hook may change
   * @param previous the record before the update, if it is one
   * @param isKept whether the entry at a path is the same in both
   */
  constructor(
    private readonly schema: Schema,
    private readonly record: Shown,
    private readonly previous?: Shown,
    isKept: (path: string) => boolean = () => false,
  ) {
    this.markLists(schema, record, (path, entries) => ({ of: 'record', path, schema: entries }));
    eachHidden(schema, record.draft, (holder, name) => {
      this.hidden.push([holder, name]);
      showAbsent(holder, name);
    });
    if (!previous) return;
    this.markLists(schema, previous, (path, entries) => ({
      of: isKept(path) ? 'record' : 'previous',
      path,
      schema: entries,
    }));
  }

  /** Whether a value has changed that has lists whose entries have hidden members. */
  touchHidden(): boolean {
    return this.differences().some(([path]) => hidesAt(this.schema, path));
  }

  /** The paths that the hook has changed. Lists change as a whole. */
  from(sources: Sources): PathChange[] {
    return this.kept(this.schema, this.differences(), sources);
  }

  private differences(): PathChange[] {
    for (const [holder, name] of this.hidden.splice(0)) settleAbsent(holder, name);
    return differences(this.schema, this.record.before, this.record.draft, '');
  }

  /** Changes of an object, with what the hook did not see of the entries in its lists. */
  private kept(schema: Schema, changes: readonly PathChange[], sources: Sources): PathChange[] {
    return changes.map(([path, value]) => [path, this.keptValue(schema, path, value, sources)]);
  }

  private keptValue(schema: Schema, path: string, value: unknown, sources: Sources): unknown {
    if (!hidesAt(schema, path)) return value;
    const type = schema.path(path) as SchemaType | undefined;
    const inner = type && schemaOf(type);
    if (inner && type.instance === 'Array') return this.keptEntries(inner, value, sources);
    if (!isPlainObject(value)) return value;
    // An object that is new as a whole, into whose lists entries may have moved.
    const [holder, parent] = inner ? [inner, ''] : [schema, `${path}.`];
    const members = this.kept(holder, differences(holder, {}, value, parent), sources);
    return withChanges(
      {},
      members.map(([at, member]) => [at.slice(parent.length), member]),
    );
  }

  private keptEntries(schema: Schema, value: unknown, sources: Sources): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.keptEntries(schema, entry, sources));
    if (!isPlainObject(value)) return value;
    const [shown, stored] = this.originsOf(schema, value, sources);
    return withChanges(stored, this.kept(schema, differences(schema, shown, value, ''), sources));
  }

  /** An entry as it was shown and as it is stored, as far as the entries of a list have the same members. */
  private originsOf(schema: Schema, entry: Fields, sources: Sources): [shown: Fields, stored: Fields] {
    const origin = this.origins.get((entry as Record<symbol, string>)[this.mark] ?? '');
    if (!origin) return [{}, {}];
    const shown = valueAt(this[origin.of]?.before, origin.path);
    const stored = valueAt(sources[origin.of], origin.path);
    if (!isPlainObject(shown) || !isPlainObject(stored)) return [{}, {}];
    return [sharedMembers(origin.schema, schema, shown), sharedMembers(origin.schema, schema, stored)];
  }

  private markLists(
    schema: Schema,
    { draft, before }: Shown,
    originOf: (path: string, schema: Schema) => Origin,
  ): void {
    const markEntries = (entries: Schema, value: unknown, path: string): void => {
      if (Array.isArray(value)) {
        value.forEach((entry, i) => markEntries(entries, entry, `${path}.${i}`));
      } else if (isPlainObject(value)) {
        const origin = originOf(path, entries);
        const key = `${origin.of} ${path}`;
        this.origins.set(key, origin);
        (value as Record<symbol, string>)[this.mark] = key;
        markMembers(entries, value, `${path}.`);
      }
    };
    const markMembers = (members: Schema, object: Fields, parent: string): void => {
      for (const [name, type] of Object.entries(members.paths)) {
        const [inner, value, path] = [schemaOf(type), valueAt(object, name), parent + name];
        if (!inner || !hidesFields(inner)) continue;
        if (type.instance === 'Array') markEntries(inner, value, path);
        else if (isPlainObject(value)) markMembers(inner, value, `${path}.`);
      }
    };
    for (const record of [before, draft]) markMembers(schema, record, '');
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

/** Whether a value has hidden members, at any level. */
function hidesAt(schema: Schema, path: string): boolean {
  const type = schema.path(path) as SchemaType | undefined;
  const inner = type && schemaOf(type);
  if (type) return inner !== undefined && hidesFields(inner);
  return Object.keys(schema.paths).some((at) => at.startsWith(`${path}.`) && hidesAt(schema, at));
}

/** An object with the changes of its members; it is not changed itself. */
export function withChanges(object: object, changes: readonly PathChange[]): object {
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

/** The members of an object that another schema has as well, of the same type, and hides if this one does. */
function sharedMembers(from: Schema, to: Schema, object: Fields): Fields {
  if (from === to) return object;
  return Object.fromEntries(Object.entries(object).filter(([name]) => isShared(from, to, name)));
}

function isShared(from: Schema, to: Schema, name: string, seen: ReadonlySet<Schema> = new Set()): boolean {
  const paths = Object.entries(from.paths).filter(([path]) => path === name || path.startsWith(`${name}.`));
  const isSame = ([path, type]: [string, SchemaType]) => isAlike(type, to.path(path), seen);
  return paths.length > 0 && paths.every(isSame);
}

function isAlike(one: SchemaType, other: SchemaType | undefined, seen: ReadonlySet<Schema>): boolean {
  if (one.instance !== other?.instance || isHidden(one) !== isHidden(other)) return false;
  const [from, to] = [schemaOf(one), schemaOf(other)];
  if (!from || !to || from === to || seen.has(from)) return from === to || (from && to) !== undefined;
  const within = new Set([...seen, from]);
  return Object.keys(from.paths).every((path) => isAlike(from.path(path), to.path(path), within));
}
