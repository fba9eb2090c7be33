import type { Schema, SchemaType } from 'mongoose';
import {
  eachEntry,
  type Form,
  formOf,
  type Member,
  membersOf,
  PLAIN,
  presentMembers,
  writeMembers,
} from './form.js';
import { plain } from './plain.js';

/**
 * Shows records as clients may see them: declared fields only, without those with `select: false`, at every
 * level.
 */
export class Presenter {
  /** The visible fields, in the order of a response. */
  readonly fields: readonly string[];
  private readonly members: readonly Member[];

  /** @param order fields that come first, such as those of the input */
  constructor(schema: Schema, order: readonly string[]) {
    const forms = formsOf(schema);
    const last = ['createdAt', 'updatedAt'];
    const names = [...forms.keys()].filter((name) => name !== '_id');
    const rest = names.filter((name) => !order.includes(name) && !last.includes(name));
    this.fields = ['_id', ...order.filter((name) => forms.has(name)), ...rest, ...last].filter((name) =>
      forms.has(name),
    );
    this.members = membersOf(new Map(this.fields.map((name) => [name, forms.get(name) ?? PLAIN])));
  }

  /**
   * A copy for clients: identifiers and decimals as strings, maps as objects, absent and null values left
   * out.
   */
  present(record: object): Record<string, unknown> {
    return presentMembers(record as Record<string, unknown>, this.members);
  }

  /**
   * Makes a writer of the JSON of the result of `present`, without building the result.
   *
   * @param fields to show besides the identifier. @default all
   */
  writerOf(fields?: readonly string[]): (record: object) => string {
    const isShown = ({ name }: Member) => !fields || name === '_id' || fields.includes(name);
    const members = this.members.filter(isShown);
    return (record) => writeMembers(record as Record<string, unknown>, members);
  }
}

/** The visible fields of a schema, each with its form. */
function formsOf(schema: Schema): Map<string, Form> {
  const tree: PathTree = new Map();
  for (const [path, type] of Object.entries(schema.paths)) {
    // Mongoose describes the entries of a map under a path of their own, `labels.$*`; the map's form covers
    // them.
    if (path === schema.get('versionKey') || path.includes('$') || isHidden(type)) continue;
    insert(tree, path.split('.'), formOfType(type));
  }
  return compile(tree);
}

type PathTree = Map<string, Form | PathTree>;

function insert(tree: PathTree, [head = '', ...tail]: readonly string[], form: Form): void {
  if (tail.length === 0) {
    tree.set(head, form);
    return;
  }
  const child = tree.get(head);
  const subtree: PathTree = child instanceof Map ? child : new Map();
  tree.set(head, subtree);
  insert(subtree, tail, form);
}

function compile(tree: PathTree): Map<string, Form> {
  return new Map(
    [...tree].map(([name, node]) => [name, node instanceof Map ? objectOf(compile(node)) : node]),
  );
}

/** Members of Mongoose's list, map and subdocument types that their common class lacks. */
interface Composite {
  schema?: Schema;
  embeddedSchemaType?: SchemaType;
  $__schemaType?: SchemaType;
}

function formOfType(type: SchemaType): Form {
  const { schema, embeddedSchemaType, $__schemaType: entries } = type as SchemaType & Composite;
  if (schema) return eachEntry(subdocument(schema));
  if (entries) return mapOf(isHidden(entries) ? formOf(() => undefined) : formOfType(entries));
  if (embeddedSchemaType) return eachEntry(formOfType(embeddedSchemaType));
  // The driver reads small values as numbers.
  if (type.instance === 'BigInt') return formOf((value) => (value === null ? null : String(value)));
  return PLAIN;
}

const subdocuments = new WeakMap<Schema, Form>();

/** A subdocument. Its schema is read at the first value, since a schema may contain itself. */
function subdocument(schema: Schema): Form {
  const known = subdocuments.get(schema);
  if (known) return known;
  let form: Form | undefined;
  const read = () => (form ??= objectOf(formsOf(schema)));
  const lazy: Form = { present: (value) => read().present(value), write: (value) => read().write(value) };
  subdocuments.set(schema, lazy);
  return lazy;
}

function objectOf(forms: ReadonlyMap<string, Form>): Form {
  const members = membersOf(forms);
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null;
  return {
    present: (value) => (isObject(value) ? presentMembers(value, members) : plain(value)),
    write: (value) => (isObject(value) ? writeMembers(value, members) : PLAIN.write(value)),
  };
}

function mapOf({ present }: Form): Form {
  return formOf((value) => {
    if (typeof value !== 'object' || value === null) return plain(value);
    const entries = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
    return Object.fromEntries(entries.map(([key, entry]) => [key, present(entry)]));
  });
}

function isHidden(type: SchemaType): boolean {
  return (type.options as { select?: boolean }).select === false;
}
