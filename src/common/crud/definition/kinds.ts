import type { Type } from '@nestjs/common';
import { IntersectionType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import type { Schema, SchemaType } from 'mongoose';
import { ValidationError } from '../../errors/index.js';
import {
  type BodyOptions,
  fieldAt,
  type FieldDescription,
  fieldsOf,
  InputReader,
  isPlainObject,
  IsOneOf,
  schemaOf,
} from '../../fields/index.js';
import type { Fail } from '../options/checks.js';
import type { AnyCrudOptions } from '../options/crud-options.js';
import { constantOf, defaultOf, isDeclared } from '../schema/schema-paths.js';

/** Name of the field that says of which kind a record is. Mongoose calls it the discriminator key. */
export const KIND = 'kind';

/** The input classes of a resource whose records are of several kinds, by kind; each has the field {@link KIND}. */
export type Kinds = ReadonlyMap<string, Type<object>>;

/** What a kind can be called, since a schema of the document has its name. */
const WORD = /^[A-Za-z0-9][\w-]*$/;

export function kindsOf({ kinds, input }: AnyCrudOptions, fail: Fail): Kinds | undefined {
  if (kinds === undefined) return undefined;
  if (typeof input !== 'function') return fail('kinds take one input class, which theirs extend.');
  const given = Object.entries(kinds);
  if (given.length === 0) fail('kinds has no kind. Name one, or leave kinds out.');
  const known = new Map<string, FieldDescription & { at: string }>();
  for (const [kind, type] of given) {
    const at = `kinds.${kind}`;
    if (!WORD.test(kind)) fail(`kinds has "${kind}", which is no word of letters, digits, - and _.`);
    if (!(type.prototype instanceof input)) fail(`${at} must be a class that extends ${input.name}.`);
    for (const field of fieldsOf(type)) {
      if (field.name === KIND) fail(`${at} has a field "${KIND}", which the generator adds. Remove it.`);
      const other = known.get(field.name) ?? { ...field, at };
      known.set(field.name, other);
      if (other.kind !== field.kind || other.list !== field.list || other.nested !== field.nested)
        fail(`the field "${field.name}" of ${at} is of another type than that of ${other.at}. Rename one.`);
    }
  }
  return new Map(given.map(([kind, type]) => [kind, withKind(type, [kind])]));
}

function withKind(type: Type<object>, kinds: readonly string[], name = type.name): Type<object> {
  class OfKind extends type {}
  Object.defineProperty(OfKind, 'name', { value: name });
  IsOneOf(kinds)(OfKind.prototype as object, KIND);
  return OfKind as Type<object>;
}

/** A class with the fields of every kind. Those that only some kinds have are optional. */
export function unionOf(input: Type<object>, kinds: Kinds): Type<object> {
  const classes = [...kinds.values()];
  const both = IntersectionType(input, ...(classes as [Type<object>]));
  const union = withKind(both, [...kinds.keys()], input.name);
  for (const name of new Set(classes.flatMap((type) => fieldsOf(type).map((field) => field.name))))
    if (!classes.every((type) => fieldAt(type, name)?.required))
      IsOptional()(union.prototype as object, name);
  return union;
}

/**
 * Adds the stored fields of every kind to a schema. The database requires none of them; records of other kinds have
 * no default of theirs, and are free of their unique values.
 */
export function addKinds(schema: Schema, kinds: Kinds, writeOnly: ReadonlySet<string>): void {
  schema.add({ [KIND]: { type: String, enum: [...kinds.keys()], required: true, immutable: true } });
  const defaults = new Map<unknown, Schema>([...kinds].map(([kind, type]) => [kind, schemaOf(type)]));
  const isNew = (name: string) => !writeOnly.has(name) && !isDeclared(schema, name);
  const typesOf = (name: string) =>
    [...defaults.values()].map((own) => own.path(name) as { defaultValue?: unknown } | undefined);
  const hasDefault = (name: string) => typesOf(name).some((type) => type?.defaultValue !== undefined);
  for (const type of kinds.values()) {
    const own = schemaOf(type);
    for (const { name } of fieldsOf(type).filter((field) => isNew(field.name))) {
      schema.add(own.pick([name]));
      const added = schema.path(name) as SchemaType | undefined;
      added?.required(false);
      const typeIn = (record: Record<string, unknown> | null) => defaults.get(record?.[KIND])?.path(name);
      const ofKind = (record: Record<string, unknown>) => constantOf(typeIn(record));
      function byKind(this: Record<string, unknown> | null) {
        return defaultOf(typeIn(this), this);
      }
      if (hasDefault(name)) added?.default(Object.assign(byKind, { ofKind }));
      if ((added?.options as { unique?: boolean } | undefined)?.unique) added?.sparse(true);
    }
  }
}

/** Whether the records of some kind cannot be without a field. */
export function isRequiredByKind(kinds: Kinds | undefined, path: string): boolean {
  return [...(kinds?.values() ?? [])].some((type) => fieldAt(type, path)?.required);
}

/** Reads bodies by the class of their kind. */
export class KindReader extends InputReader<object> {
  private readonly readers: ReadonlyMap<unknown, InputReader<object>>;
  /** Reads the kind alone: of an unknown one, nobody knows by which rules the rest is to be read. */
  private readonly ofKind: InputReader<object>;

  constructor(union: Type<object>, kinds: Kinds, extras: readonly string[]) {
    super(union, extras);
    const names = this.fields.map(({ name }) => name);
    const others = extras.filter((name) => !names.includes(name));
    this.ofKind = new InputReader(withKind(class {}, [...kinds.keys()]));
    this.readers = new Map([...kinds].map(([kind, type]) => [kind, new InputReader(type, others)]));
  }

  /** The reader of a record's kind; for a record from before there were kinds, of all. */
  override of(record: object | undefined): InputReader<object> {
    return this.readers.get((record as Record<string, unknown> | undefined)?.[KIND]) ?? this;
  }

  override async read(body: unknown, options?: BodyOptions): Promise<object> {
    if (!isPlainObject(body)) return super.read(body, options);
    const { [KIND]: kind } = body;
    return this.readers.get(kind)?.read(body, options) ?? this.ofKind.read({ [KIND]: kind });
  }

  /** Reads a patch of a record whose kind is not known yet: as the one that it fits best. */
  override async readPatch(body: unknown, options?: BodyOptions): Promise<object> {
    const given = isPlainObject(body) ? body : {};
    const named = this.readers.get(given[KIND]);
    if (KIND in given && !named) return this.ofKind.readPatch({ [KIND]: given[KIND] });
    const hasAll = ({ fields }: InputReader<object>) =>
      Object.keys(given).every((name) => fields.some((field) => field.name === name));
    const readers = [...this.readers.values()].sort((a, b) => Number(hasAll(b)) - Number(hasAll(a)));
    let best: ValidationError | undefined;
    for (const reader of named ? [named] : readers) {
      try {
        return await reader.readPatch(body, options);
      } catch (error) {
        if (!(error instanceof ValidationError)) throw error;
        if (!best || error.errors.length < best.errors.length) best = error;
      }
    }
    throw best ?? new Error('There is no kind.');
  }
}
