import type { Schema, SchemaType } from 'mongoose';
import { plain } from './plain.js';

type Present = (value: unknown) => unknown;

/** Shows records as clients may see them: declared fields only, none with `select: false`, at every level. */
export class Presenter {
  /** The visible fields, in the order of a response. */
  readonly fields: readonly string[];
  private readonly members: readonly (readonly [string, Present])[];

  /** @param order fields that come first, such as those of the input */
  constructor(schema: Schema, order: readonly string[]) {
    const members = membersOf(schema);
    const last = ['createdAt', 'updatedAt'];
    const names = [...members.keys()].filter((name) => name !== '_id');
    const rest = names.filter((name) => !order.includes(name) && !last.includes(name));
    this.fields = ['_id', ...order.filter((name) => members.has(name)), ...rest, ...last].filter((name) =>
      members.has(name),
    );
    this.members = this.fields.map((name) => [name, members.get(name) ?? plain] as const);
  }

  /** A copy for clients: identifiers and decimals as strings, maps as objects, nothing where there is nothing. */
  present(record: object): Record<string, unknown> {
    return presentMembers(record as Record<string, unknown>, this.members);
  }
}

function presentMembers(
  source: Record<string, unknown>,
  members: Iterable<readonly [string, Present]>,
): Record<string, unknown> {
  const presented: Record<string, unknown> = {};
  for (const [name, present] of members) {
    const value = source[name];
    if (value === undefined || value === null) continue;
    presented[name] = typeof value === 'string' ? value : present(value);
  }
  return presented;
}

/** Each visible field of a schema, and how it is shown. */
function membersOf(schema: Schema): Map<string, Present> {
  const tree = new Map<string, Present | PathTree>();
  for (const [path, type] of Object.entries(schema.paths)) {
    // The entries of a map are described by a path of their own, `labels.$*`, that its converter reads.
    if (path === schema.get('versionKey') || path.includes('$') || isHidden(type)) continue;
    insert(tree, path.split('.'), presentOf(type));
  }
  return compile(tree);
}

type PathTree = Map<string, Present | PathTree>;

function insert(tree: PathTree, [head = '', ...tail]: readonly string[], present: Present): void {
  if (tail.length === 0) {
    tree.set(head, present);
    return;
  }
  const child = tree.get(head);
  const subtree = child instanceof Map ? child : new Map<string, Present | PathTree>();
  tree.set(head, subtree);
  insert(subtree, tail, present);
}

function compile(tree: PathTree): Map<string, Present> {
  return new Map(
    [...tree].map(([name, node]) => [name, node instanceof Map ? objectOf(compile(node)) : node]),
  );
}

/** What Mongoose's types of lists, maps and subdocuments know beyond their common class. */
interface Composite {
  schema?: Schema;
  embeddedSchemaType?: SchemaType;
  $__schemaType?: SchemaType;
}

function presentOf(type: SchemaType): Present {
  const { schema, embeddedSchemaType, $__schemaType: entries } = type as SchemaType & Composite;
  if (schema) return eachEntry(subdocument(schema));
  if (entries) return mapOf(isHidden(entries) ? () => undefined : presentOf(entries));
  if (embeddedSchemaType) return eachEntry(presentOf(embeddedSchemaType));
  // The driver reads small ones as numbers.
  if (type.instance === 'BigInt') return (value) => (value === null ? null : String(value));
  return plain;
}

const subdocuments = new WeakMap<Schema, Present>();

/** A subdocument; its schema is read at the first value, since a schema may contain itself. */
function subdocument(schema: Schema): Present {
  let present: Present | undefined;
  const known = subdocuments.get(schema);
  if (known) return known;
  const lazy: Present = (value) => (present ??= objectOf(membersOf(schema)))(value);
  subdocuments.set(schema, lazy);
  return lazy;
}

function objectOf(members: Map<string, Present>): Present {
  const list = [...members];
  return (value) =>
    typeof value === 'object' && value !== null
      ? presentMembers(value as Record<string, unknown>, list)
      : plain(value);
}

function eachEntry(present: Present): Present {
  const each: Present = (value) => (Array.isArray(value) ? value.map(each) : present(value));
  return each;
}

function mapOf(present: Present): Present {
  return (value) => {
    if (typeof value !== 'object' || value === null) return plain(value);
    const entries = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
    return Object.fromEntries(entries.map(([key, entry]) => [key, present(entry)]));
  };
}

function isHidden(type: SchemaType): boolean {
  return (type.options as { select?: boolean }).select === false;
}
