import type { Type } from '@nestjs/common';
import { type Schema, Types, mongo } from 'mongoose';
import { apiNamesOf, fieldsOf, isClass } from '../../fields/index.js';
import type { TenantContext } from '../../tenancy/index.js';
import type { AnyCrudOptions, CrudOutput, CrudOutputFunction } from '../options/crud-options.js';
import type { Presented } from '../options/records.js';
import type { CrudDefinition } from './crud-definition.js';
import { hiddenFrom } from './field-rules.js';
import { isWithin, nodesOf, type SchemaNode, topOf } from '../schema/schema-paths.js';

/**
 * Returns a stored value in the form that JSON should carry: identifiers, decimals and 64-bit integers as
 * strings, maps as objects, bytes in base64, UUIDs in their usual form. Dates stay dates, which JSON writes
 * as timestamps.
 *
 * @param own returns what is shown in place of an object; undefined for its members
 */
export function plain(value: unknown, own?: (object: object) => unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((entry) => plain(entry, own));
  if (value instanceof Types.ObjectId) return value.toHexString();
  if (value instanceof Types.Decimal128 || value instanceof mongo.Long) return value.toString();
  if (value instanceof mongo.Binary) {
    return value.sub_type === mongo.Binary.SUBTYPE_UUID
      ? value.toUUID().toString()
      : value.toString('base64');
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  const shown = own?.(value);
  if (shown !== undefined) return shown;
  return Object.fromEntries(membersOf(value).map(([key, entry]) => [key, plain(entry, own)]));
}

function membersOf(value: object): (readonly [string, unknown])[] {
  return value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
}

type Fields = Readonly<Record<string, unknown>>;

/** Shows the members of an object: defaults in place of absent and null values, which are left out otherwise. */
function shownMembers(source: Fields, members: Iterable<readonly [string, SchemaNode]>) {
  const shown: Record<string, unknown> = {};
  for (const [name, node] of members) {
    if (node.isHidden) continue;
    const { preset } = node;
    const value =
      source[name] ?? (typeof preset === 'function' ? (preset as (of: Fields) => unknown)(source) : preset);
    if (value === undefined || value === null) continue;
    shown[name] = typeof value === 'string' ? value : shownValue(value, node);
  }
  return shown;
}

/** Shows a value of a field, or of an entry of one: of objects, at every level, the members that the schema shows. */
function shownValue(value: unknown, node: SchemaNode): unknown {
  const { entries, schema, type } = node;
  const isMap = type?.instance === 'Map';
  if (Array.isArray(value) && !isMap) return value.map((entry) => shownValue(entry, entries ?? node));
  if (entries && !isMap) return shownValue(value, entries);
  // The driver reads small values as numbers.
  if (type?.instance === 'BigInt' && value !== null) return String(value);
  if (typeof value !== 'object' || value === null) return plain(value);
  // Only an object has members.
  const members = schema || !type ? node.members : undefined;
  if (members) return shownMembers(value as Fields, members);
  if (!entries) return plain(value);
  const shown = entries.isHidden ? [] : membersOf(value);
  return Object.fromEntries(shown.map(([key, entry]) => [key, shownValue(entry, entries)]));
}

/** Shows records as clients may see them: declared fields only, without those with `select: false`, at every level. */
export class Presenter {
  /** The visible fields, in the order of a response. */
  readonly fields: readonly string[];
  private readonly members: readonly (readonly [string, SchemaNode])[];

  /** @param order fields that come first, such as those of the input */
  constructor(schema: Schema, order: readonly string[]) {
    const nodes = nodesOf(schema);
    const last = ['createdAt', 'updatedAt'];
    const rest = [...nodes.keys()].filter((name) => !['_id', ...order, ...last].includes(name));
    this.members = ['_id', ...order, ...rest, ...last].flatMap((name) => {
      const node = nodes.get(name);
      return node && !node.isHidden ? [[name, node] as const] : [];
    });
    this.fields = this.members.map(([name]) => name);
  }

  /** A copy for clients: identifiers and decimals as strings, maps as objects, defaults for what is absent. */
  present(record: object): Record<string, unknown> {
    return shownMembers(record as Fields, this.members);
  }
}

/** The option `output` in its long form. */
export interface OutputDefinition extends CrudOutputFunction<object> {
  /** Names of the declared fields of the class, and of the identifier, which every record has. */
  readonly fields?: readonly string[];
}

export function outputOf({ output }: AnyCrudOptions): OutputDefinition | undefined {
  if (!output) return undefined;
  const { type, from, hides } = longForm(output);
  if (!type) return { from, hides };
  const names = fieldsOf(type).map(({ name }) => name);
  return { type, from, hides, fields: [...new Set(['_id', ...names, ...apiNamesOf(type)])] };
}

/** A class alone shows a copy of the record, and its other members hide nothing. */
function longForm(output: CrudOutput<object>): CrudOutputFunction<object> {
  if (typeof output === 'object') return output;
  return isClass(output) ? { type: output, from: copyInto(output), hides: [] } : { from: output };
}

type Present = (record: object, caller: TenantContext) => Presented<object>;

/** Shows a record as the option `output` says: the function's result, or the declared fields of the class. */
export function presentBy({ fieldRules, output, presenter }: CrudDefinition): Present {
  const shown: Present = (record, caller) => {
    const presented = presenter.present(record);
    for (const field of fieldRules.size > 0 ? hiddenFrom(fieldRules, caller) : [])
      Reflect.deleteProperty(presented, field);
    return presented as Presented<object>;
  };
  if (!output) return shown;
  const { fields, from } = output;
  return (record, caller) => {
    const view = atOnce(from(shown(record, caller), caller));
    const members = fields?.map((name) => [name, view[name] ?? undefined] as const);
    const declared = members?.filter(([, value]) => value !== undefined);
    return plain(declared ? Object.fromEntries(declared) : view) as Presented<object>;
  };
}

/** Whether a record may look different to different callers. */
export function isShownByCaller({ fieldRules, options, output }: CrudDefinition): boolean {
  return fieldRules.size > 0 || options.output !== output?.type;
}

/** What every record shows, and every function of an output should, too. */
const ALWAYS_SHOWN = ['_id', 'createdAt', 'updatedAt'];

/** Whether clients see a path as it is stored; `unknown` if a function decides that does not say. */
export function showsStored({ output }: CrudDefinition, path: string): boolean | 'unknown' {
  const { fields, hides, type } = output ?? { hides: [] };
  const name = topOf(path);
  if (type && (!fields?.includes(name) || isAccessor(type, name))) return false;
  if (hides) return !hides.some((hidden) => isWithin(hidden, path) || isWithin(path, hidden));
  return ALWAYS_SHOWN.includes(name) || 'unknown';
}

/** @throws Error if a view is not an object, or the promise of one */
function atOnce(view: unknown): Fields {
  if (view instanceof Promise) {
    // Nobody else waits for it, and its rejection would end the process.
    view.catch(() => undefined);
  } else if (typeof view === 'object' && view !== null && !Array.isArray(view)) return view as Fields;
  throw new Error(
    'The function of `output` must return the record itself, not a promise, a list or a value.',
  );
}

/** Copies the record's values into an instance, whose getters then compute theirs. */
function copyInto(type: Type<object>): CrudOutputFunction<object>['from'] {
  return (record) => {
    const view = Object.create(type.prototype as object) as Record<string, unknown>;
    for (const [name, value] of Object.entries(record)) if (!isAccessor(type, name)) view[name] = value;
    return view;
  };
}

/** Whether a class computes a member by a getter. */
export function isAccessor(type: Type<object>, name: string): boolean {
  for (let at = type.prototype as object | null; at; at = Object.getPrototypeOf(at) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor) return descriptor.get !== undefined;
  }
  return false;
}
