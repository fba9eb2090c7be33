import type { Type } from '@nestjs/common';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { documentedDefault, FieldDeclaration, type FieldKind } from './field-rule.js';
import type { JsonSchema } from './json-schema.js';
import {
  apiOptionsOf,
  designTypeOf,
  isClass,
  isConditional,
  lineageOf,
  propsOf,
  transformTypeOf,
  validationsOf,
} from './metadata.js';
import { KIND_ORDER, LIST_RULES, PLAIN_RULES } from './plain-rules.js';

/** A field of a class, as its decorators describe it. */
export interface FieldDescription {
  readonly name: string;
  /** Whether a create must contain it. */
  readonly required: boolean;
  readonly kind: FieldKind;
  /** Whether it holds a list of that kind. */
  readonly list: boolean;
  /** Whether a decorator of this package describes it, and so its path in the store. */
  readonly isDeclared?: true;
  /** Class of the nested object, or of a list's entries. */
  readonly nested?: Type<object>;
  /** Target class of a reference. */
  readonly reference?: () => Type<object>;
  /** Stored if a create omits the field. */
  readonly default?: unknown;
  /** Values of an enum. */
  readonly values?: readonly (string | number)[];
  /** OpenAPI 3.0 schema of the field's value, with nested classes inlined. */
  readonly schema: JsonSchema;
}

/** A field as its own decorators describe it. The schema of a nested class only says that it is an object. */
export interface FieldSource extends FieldDescription {
  /** The declaration, if the decorator is one of the field decorators here. */
  readonly declaration?: FieldDeclaration;
}

const known = new WeakMap<Type<object>, readonly FieldSource[]>();

/** Fields of a class in order of declaration, base classes first. */
export function sourcesOf(target: Type<object>): readonly FieldSource[] {
  const found = known.get(target) ?? readSources(target);
  known.set(target, found);
  return found;
}

function readSources(target: Type<object>): FieldSource[] {
  const validations = validationsOf(target);
  const names = new Set(
    lineageOf(target).flatMap((owner) => validationsOf(owner).map(({ propertyName }) => propertyName)),
  );
  return [...names].map((name) =>
    sourceOf(
      target,
      name,
      validations.filter(({ propertyName }) => propertyName === name),
    ),
  );
}

function sourceOf(target: Type<object>, name: string, validations: ValidationMetadata[]): FieldSource {
  const declaration = validations
    .map(({ constraints }) => (constraints as unknown[] | undefined)?.[0])
    .find((first) => first instanceof FieldDeclaration);
  const read = declaration ? declared(target, name, declaration) : derived(target, name, validations);
  const value = declaration?.options.default ?? propDefaultOf(target, name);
  const documented = documentedDefault(value);
  return {
    ...read,
    name,
    required: !validations.some(isConditional),
    ...(value !== undefined && { default: value }),
    schema: withApiOptions(
      { ...read.schema, ...(documented !== undefined && { default: documented }) },
      {
        options: apiOptionsOf(target, name),
        designType: designTypeOf(target, name),
        list: read.list,
        declared: declaration !== undefined,
      },
    ),
  };
}

type ReadField = Omit<FieldSource, 'name' | 'required' | 'default'>;

function declared(target: Type<object>, name: string, declaration: FieldDeclaration): ReadField {
  const { kind, list, nested, reference, values } = declaration.rule;
  return {
    kind,
    list,
    ...(nested && { nested: nestedClassOf(target, name, nested) }),
    ...(reference && { reference }),
    ...(values && { values }),
    schema: declaration.schema,
    declaration,
  };
}

function nestedClassOf(target: Type<object>, name: string, nested: () => Type<object>): Type<object> {
  const type = nested() as Type<object> | undefined;
  if (type) return type;
  throw new Error(
    `The nested class of ${target.name}.${name} is undefined. Two files that import each other do that: move one class.`,
  );
}

/** Reads a field that has only class-validator's own decorators. */
function derived(target: Type<object>, name: string, validations: ValidationMetadata[]): ReadField {
  const designType = designTypeOf(target, name);
  const rules = validations.filter((validation) => !isConditional(validation));
  const list =
    designType === Array || rules.some(({ each, ...rule }) => each || constraintOf(rule) in LIST_RULES);
  const transformType = transformTypeOf(target, name);
  const kind = kindOf(rules, list ? undefined : designType, transformType);
  const nested = [transformType, list ? undefined : designType].find(isClass);
  const entry = schemaOfRules(rules, kind, list ? undefined : designType);
  const values = kind === 'enum' ? { values: entry.enum as (string | number)[] } : {};
  return {
    kind,
    list,
    ...(kind === 'nested' && nested && { nested }),
    ...values,
    schema: list ? { type: 'array', items: entry, ...listSchema(rules, kind) } : entry,
  };
}

function kindOf(
  rules: readonly ValidationMetadata[],
  designType: unknown,
  transformType: unknown,
): FieldKind {
  const kinds = rules.map((rule) => PLAIN_RULES[constraintOf(rule)]?.kind);
  const found = KIND_ORDER.find((kind) => kinds.includes(kind));
  if (found) return found;
  return transformType === Date ? 'timestamp' : (KIND_BY_TYPE.get(designType)?.kind ?? 'other');
}

/** Kind of a field that only its TypeScript type describes. */
const KIND_BY_TYPE = new Map<unknown, { kind: FieldKind; schema: JsonSchema }>([
  [String, { kind: 'text', schema: { type: 'string' } }],
  [Number, { kind: 'number', schema: { type: 'number' } }],
  [Boolean, { kind: 'flag', schema: { type: 'boolean' } }],
  [Date, { kind: 'timestamp', schema: { type: 'string', format: 'date-time' } }],
  // JSON has no such numbers: they are strings in every response.
  [BigInt, { kind: 'other', schema: { type: 'string', pattern: '^-?\\d+$' } }],
]);

function schemaOfRules(
  rules: readonly ValidationMetadata[],
  kind: FieldKind,
  designType: unknown,
): JsonSchema {
  const schemas = rules.flatMap((rule) => {
    const found = PLAIN_RULES[constraintOf(rule)];
    return found?.schema
      ? [{ kind: found.kind, schema: found.schema((rule.constraints ?? []) as unknown[]) }]
      : [];
  });
  // The rule that decides the kind comes last, so that its type wins: @Min() says number, @IsInt() integer.
  const ordered = schemas.sort((a, b) => rankOf(b.kind) - rankOf(a.kind));
  const merged = Object.assign({}, ...ordered.map(({ schema }) => schema)) as JsonSchema;
  const fallback = kind === 'timestamp' ? Date : designType;
  const schema = { ...(merged.type === undefined && KIND_BY_TYPE.get(fallback)?.schema), ...merged };
  const isNotEmpty = rules.some((rule) => constraintOf(rule) === 'isNotEmpty');
  if (isNotEmpty && schema.type === 'string' && !schema.enum && !schema.format) schema.minLength ??= 1;
  return kind === 'integer' ? wholeBounds(schema) : schema;
}

function rankOf(kind: FieldKind | undefined): number {
  return kind === undefined ? KIND_ORDER.length : KIND_ORDER.indexOf(kind);
}

/** Whole numbers above 0 start at 1. */
function wholeBounds({ exclusiveMinimum, exclusiveMaximum, ...schema }: JsonSchema): JsonSchema {
  return {
    ...schema,
    ...(exclusiveMinimum && { minimum: 1 }),
    ...(exclusiveMaximum && { maximum: -1 }),
  };
}

function listSchema(rules: readonly ValidationMetadata[], kind: FieldKind): JsonSchema {
  const keywords = rules.map((rule) =>
    LIST_RULES[constraintOf(rule)]?.((rule.constraints ?? []) as unknown[]),
  );
  const { uniqueItems, ...schema } = Object.assign({}, ...keywords) as JsonSchema;
  // Objects are compared by identity, or by a function that no keyword can describe.
  const comparesValues = kind !== 'nested' && kind !== 'other';
  return { ...schema, ...(uniqueItems && comparesValues && { uniqueItems }) };
}

function constraintOf({ name, type }: Pick<ValidationMetadata, 'name' | 'type'>): string {
  return type === 'customValidation' ? (name ?? '') : type;
}

function propDefaultOf(target: Type<object>, name: string): unknown {
  const options = propsOf(target).get(name);
  return options && 'default' in options ? options.default : undefined;
}

/** Keys of `@ApiProperty()` that describe the field rather than its value. */
const NOT_OF_THE_VALUE = new Set([
  'required',
  'selfRequired',
  'isArray',
  'enumName',
  'enumSchema',
  'name',
  'link',
]);

interface ApiContext {
  /** Options of `@ApiProperty()`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The type that TypeScript declares, which @nestjs/swagger itself adds to the options. */
  readonly designType: unknown;
  readonly list: boolean;
  /** Whether one of the field decorators here wrote the options. */
  readonly declared: boolean;
}

/** Merges the author's `@ApiProperty()` options over a derived schema. */
function withApiOptions(
  derived: JsonSchema,
  { options, designType, list, declared }: ApiContext,
): JsonSchema {
  const { type, items, enum: choices, ...rest } = options;
  const keywords = Object.fromEntries(
    Object.entries(rest).filter(([key, value]) => value !== undefined && !NOT_OF_THE_VALUE.has(key)),
  );
  const written = { ...typeKeywords(type), ...(choices !== undefined && { enum: choices }) } as JsonSchema;
  const isInferred = typeof type === 'function' && (declared || type === designType);
  // @nestjs/swagger calls an enum of strings and numbers a string.
  const isMixedEnum = declared && derived.enum !== undefined && derived.type === undefined;
  const ofValue = (isInferred && derived.type !== undefined) || isMixedEnum ? withoutType(written) : written;
  const schema = { ...derived, ...keywords };
  if (!list || ofValue.type === 'array') {
    return { ...schema, ...ofValue, ...(items !== undefined && { items: items as JsonSchema }) };
  }
  return { ...schema, items: { ...derived.items, ...ofValue, ...(items as JsonSchema | undefined) } };
}

function withoutType({ type: _type, format: _format, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

function typeKeywords(type: unknown): JsonSchema {
  if (typeof type === 'string') return { type: type as JsonSchema['type'] };
  return { ...BY_CONSTRUCTOR.get(type) };
}

const BY_CONSTRUCTOR = new Map<unknown, JsonSchema>([
  [String, { type: 'string' }],
  [Number, { type: 'number' }],
  [Boolean, { type: 'boolean' }],
  [Date, { type: 'string', format: 'date-time' }],
]);
