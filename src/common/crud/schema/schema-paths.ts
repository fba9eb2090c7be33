import type { Schema, SchemaType } from 'mongoose';

type Fields = Record<string, unknown>;

/** Members of Mongoose's types that their common class lacks. */
export interface Composite {
  schema?: Schema;
  embeddedSchemaType?: SchemaType;
  $__schemaType?: SchemaType;
  castFunction?(caster: false): unknown;
}

/** What a schema holds at a path: a single value, an object, or a list or map of either. */
export interface SchemaNode {
  /** Undefined for an object that only its members declare. */
  readonly type?: SchemaType;
  /** Whether clients do not see it: `select: false`. */
  readonly isHidden: boolean;
  /** The default in every record, or a function that returns it for the record's kind. */
  readonly preset?: unknown;
  /** The entries of a list or map; those of a list of objects are described by `members`. */
  readonly entries?: SchemaNode;
  /** The schema of an object, or of a list's objects. */
  readonly schema?: Schema;
  readonly members?: SchemaNodes;
}

/** The members of an object, by name, without the revision. */
export type SchemaNodes = ReadonlyMap<string, SchemaNode>;

const known = new WeakMap<Schema, SchemaNodes>();

/** The members of a schema as a tree, in which objects that are declared by dotted paths are objects as well. */
export function nodesOf(schema: Schema): SchemaNodes {
  const found = known.get(schema);
  if (found) return found;
  // Mongoose describes the entries of a map under a path of their own, `labels.$*`.
  const isMember = (path: string) => path !== schema.get('versionKey') && !path.includes('$');
  const nodes = nest(schema, Object.keys(schema.paths).filter(isMember), '');
  known.set(schema, nodes);
  return nodes;
}

function nest(schema: Schema, paths: readonly string[], parent: string): SchemaNodes {
  const below = paths.filter((path) => path.startsWith(parent));
  const names = new Set(below.map((path) => topOf(path.slice(parent.length))));
  return new Map(
    [...names].map((name) => {
      const type = schema.paths[parent + name];
      const members = () => nest(schema, below, `${parent}${name}.`);
      return [name, type ? nodeOf(type) : { isHidden: false, members: members() }];
    }),
  );
}

function nodeOf(type: SchemaType): SchemaNode {
  const { schema, embeddedSchemaType, $__schemaType } = type as SchemaType & Composite;
  const entries = $__schemaType ?? embeddedSchemaType;
  const { defaultValue } = type as { defaultValue?: { ofKind?: (record: object) => unknown } | null };
  return {
    type,
    preset: constantOf(type) ?? defaultValue?.ofKind,
    isHidden: isHiddenType(type),
    ...(schema ? { schema } : entries && { entries: nodeOf(entries) }),
    // A schema may contain itself.
    get members() {
      return schema && nodesOf(schema);
    },
  };
}

/** Whether a schema hides a field with `select: false`, at any level. */
export function hidesFields(schema: Schema, seen: ReadonlySet<Schema> = new Set()): boolean {
  const hides = ({ isHidden, entries, schema: inner, members }: SchemaNode): boolean =>
    isHidden ||
    (entries !== undefined && hides(entries)) ||
    (inner ? hidesFields(inner, new Set([...seen, schema])) : [...(members?.values() ?? [])].some(hides));
  return !seen.has(schema) && [...nodesOf(schema).values()].some(hides);
}

/** Visits the fields that a schema hides, whether a record has them or not, at every level that it has. */
export function eachHidden(schema: Schema, record: object, visit: (holder: object, name: string) => void) {
  const walk = ({ entries, members = new Map() }: Partial<SchemaNode>, value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (entries || Array.isArray(value)) {
      const each =
        value instanceof Map ? [...(value as Map<unknown, unknown>).values()] : Object.values(value);
      for (const entry of each) walk(entries ?? { members }, entry);
      return;
    }
    for (const [name, member] of members) {
      if (member.isHidden) visit(value, name);
      else walk(member, (value as Fields)[name]);
    }
  };
  walk({ members: nodesOf(schema) }, record);
}

/** The field of the record itself that a path leads into. */
export function topOf(path: string): string {
  return path.split('.', 1)[0] ?? path;
}

/** Whether a path is another one, or a part of it. */
export function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`);
}

/** The schema of a type's objects: its own, or that of its entries. */
export function schemaOf(type: SchemaType): Schema | undefined {
  const { schema, embeddedSchemaType, $__schemaType: entries } = type as SchemaType & Composite;
  const inner = entries ?? embeddedSchemaType;
  return schema ?? (inner && schemaOf(inner));
}

/** The type of a list's entries; undefined if the type is not a list. */
export function entryTypeOf(type: SchemaType | undefined): SchemaType | undefined {
  if (type?.instance !== 'Array') return undefined;
  return (type as SchemaType & Composite).embeddedSchemaType ?? type;
}

export function isHiddenType(type: SchemaType): boolean {
  return (type.options as { select?: boolean }).select === false;
}

/** The type of the value at a path, or of the entries of the list there. */
export function valueTypeAt(schema: Schema, path: string): SchemaType | undefined {
  const type = schema.path(path) as SchemaType | undefined;
  return entryTypeOf(type) ?? type;
}

/** The default of a type in a record; undefined if it has none. */
export function defaultOf(type: SchemaType | undefined, record: object | null): unknown {
  // What the types of Mongoose do not say.
  const { getDefault } = (type ?? {}) as { getDefault?: (record: object | null, init: boolean) => unknown };
  return getDefault?.call(type, record, false) ?? undefined;
}

/** The default of a type in every record; undefined if it has none, or if a function computes it. */
export function constantOf(type: SchemaType | undefined): unknown {
  const { defaultValue } = (type ?? {}) as { defaultValue?: unknown };
  return typeof defaultValue === 'function' ? undefined : defaultOf(type, null);
}

/** A path and those above it, the outermost first, with their types. */
export function typesOn(schema: Schema, path: string): (readonly [string, SchemaType | undefined])[] {
  const names = path.split('.');
  return names.map((_, i) => {
    const prefix = names.slice(0, i + 1).join('.');
    return [prefix, schema.path(prefix) as SchemaType | undefined];
  });
}

/** Whether a path leads into a map or an open object, where names are data. */
export function isInMap(schema: Schema, path: string): boolean {
  const above = typesOn(schema, path).slice(0, -1);
  return above.some(([, type]) => type?.instance === 'Map' || type?.instance === 'Mixed');
}

/** Whether a schema hides a path from clients: `select: false` on it or above it, or the revision. */
export function isHidden(schema: Schema, path: string): boolean {
  return typesOn(schema, path).some(
    ([prefix, type]) => prefix === schema.get('versionKey') || (type && isHiddenType(type)),
  );
}

/** Whether a schema has a path. Mongoose itself accepts positions in lists as well. */
export function isDeclared(schema: Schema, path: string): boolean {
  const [, ...inner] = path.split('.');
  const isPosition = inner.some((name) => /^\d+$/.test(name));
  const type = schema.path(path) as SchemaType | undefined;
  return !isPosition && (type !== undefined || schema.pathType(path) === 'nested');
}

/** The lists that a path leads into or ends at, the outermost first. */
export function listsOn(schema: Schema, path: string): string[] {
  const names = path.split('.').filter((name) => !/^\d+$/.test(name));
  const lists = typesOn(schema, names.join('.')).filter(([, type]) => entryTypeOf(type));
  return lists.map(([prefix]) => prefix);
}

/** The part of a schema that holds its middleware; Mongoose offers no public way to read it. */
interface WithHooks {
  readonly s?: { readonly hooks?: Partial<Record<'_pres' | '_posts', Hooks>> };
}

type Hooks = ReadonlyMap<string, readonly { readonly fn?: { readonly name?: string } }[]>;

/** Middleware that Mongoose itself adds to every schema. */
const MONGOOSES_OWN =
  /^(_setTimestampsOnUpdate|timestampsPreSave|saveSubdocs|shardingPlugin|trackTransaction)/;

/** Whether a schema, or one inside it, has middleware that Mongoose did not add: of an operation, or of any. */
export function hasMiddleware(schema: Schema, operation?: string): boolean {
  return schemasIn(schema).some((one) => {
    const { _pres = new Map(), _posts = new Map() } = (one as WithHooks).s?.hooks ?? {};
    const hooks = [..._pres, ..._posts].filter(([name]) => name === (operation ?? name));
    return hooks.flatMap(([, those]) => those).some(({ fn }) => !MONGOOSES_OWN.test(fn?.name ?? ''));
  });
}

export function hasMaps(schema: Schema): boolean {
  return typesIn(schema).some(([, { instance }]) => instance === 'Map');
}

/** Whether a schema, or one inside it, has validators of your own. */
export function hasOwnValidators(schema: Schema): boolean {
  const validators = typesIn(schema).flatMap(([, type]) => type.validators);
  return validators.some(({ type }) => type === 'user defined');
}

/** The types of a schema and of those inside it, with their paths there. */
export function typesIn(schema: Schema): [path: string, type: SchemaType][] {
  return schemasIn(schema).flatMap(({ paths }) => Object.entries(paths));
}

function schemasIn(schema: Schema, seen = new Set<Schema>()): Schema[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  return [schema, ...schema.childSchemas.flatMap((child) => schemasIn(child.schema, seen))];
}

/** The keys of an index without lists, except for one. @param list path of that one. @default the first one */
export function withOneList(
  schema: Schema,
  keys: Record<string, 1 | -1>,
  list = Object.keys(keys).find((path) => listsOn(schema, path).length > 0),
): Record<string, 1 | -1> {
  const fits = (path: string) => path === list || listsOn(schema, path).length === 0;
  return Object.fromEntries(Object.entries(keys).filter(([path]) => fits(path)));
}
