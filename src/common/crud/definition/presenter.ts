import { type Schema, type SchemaType, Types, mongo } from 'mongoose';

/**
 * Returns a stored value in the form that JSON should carry: identifiers, decimals and 64-bit integers as
 * strings, maps as objects, bytes in base64, UUIDs in their usual form. Dates stay dates, which JSON writes
 * as timestamps.
 */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Types.ObjectId) return value.toHexString();
  if (value instanceof Types.Decimal128 || value instanceof mongo.Long) return value.toString();
  if (value instanceof mongo.Binary) {
    return value.sub_type === mongo.Binary.SUBTYPE_UUID
      ? value.toUUID().toString()
      : value.toString('base64');
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  const entries = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
  return Object.fromEntries(entries.map(([key, entry]) => [key, plain(entry)]));
}

/** How the values of a field are shown. */
interface Form {
  /** Returns a value in the form that JSON should carry. */
  readonly present: (value: unknown) => unknown;
  /** The JSON of the result of `present`, without building it; undefined for values that JSON leaves out. */
  readonly write: (value: unknown) => string | undefined;
}

/** The form of a value whose type needs nothing special. */
const PLAIN: Form = { present: plain, write: writePlain };

/** The form that a function gives a value. */
function formOf(present: Form['present']): Form {
  return { present, write: (value) => JSON.stringify(present(value)) };
}

/** Applies a form to a value, or to each entry of a list at any depth. */
function eachEntry({ present, write }: Form): Form {
  const presentEach: Form['present'] = (value) =>
    Array.isArray(value) ? value.map(presentEach) : present(value);
  const writeEach: Form['write'] = (value) =>
    Array.isArray(value)
      ? `[${Array.from(value, (entry) => writeEach(entry) ?? 'null').join(',')}]`
      : write(value);
  return { present: presentEach, write: writeEach };
}

/** A field of an object, its name in JSON, and its form. */
interface Member {
  readonly name: string;
  readonly key: string;
  readonly form: Form;
}

/** The members of an object in the order of JavaScript properties, and so of JSON: numbers come first. */
function membersOf(forms: ReadonlyMap<string, Form>): Member[] {
  const names = Object.keys(Object.fromEntries(forms));
  return names.map((name) => ({ name, key: `${JSON.stringify(name)}:`, form: forms.get(name) ?? PLAIN }));
}

/** Shows the members of an object, leaving out absent and null values. */
function presentMembers(
  source: Readonly<Record<string, unknown>>,
  members: readonly Member[],
): Record<string, unknown> {
  const presented: Record<string, unknown> = {};
  for (const { name, form } of members) {
    const value = source[name];
    if (value === undefined || value === null) continue;
    presented[name] = typeof value === 'string' ? value : form.present(value);
  }
  return presented;
}

/** Writes the JSON of the result of {@link presentMembers}. */
function writeMembers(source: Readonly<Record<string, unknown>>, members: readonly Member[]): string {
  let text = '{';
  for (const { name, key, form } of members) {
    const value = source[name];
    if (value === undefined || value === null) continue;
    const written = typeof value === 'string' ? quoted(value) : form.write(value);
    if (written !== undefined) text += text.length === 1 ? key + written : `,${key}${written}`;
  }
  return `${text}}`;
}

/** Characters that may need escaping in JSON. Only unpaired surrogates do, which JSON.stringify decides. */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

function quoted(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function writePlain(value: unknown): string | undefined {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (value instanceof Types.ObjectId) return `"${value.toHexString()}"`;
  if (value instanceof Date && !Number.isNaN(value.getTime())) return `"${value.toISOString()}"`;
  return JSON.stringify(plain(value));
}

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
