import type { Type } from '@nestjs/common';
import * as validators from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import { enumSchema, type EnumValues, enumValuesOf } from './enums.js';
import type { FieldDescription, FieldKind } from './field-rule.js';
import { IDENTIFIER_SCHEMA } from './identifiers.js';
import { type JsonSchema, withTextExample } from './json-schema.js';
import { designTypeOf, isClass, isConditional, transformTypeOf } from './metadata.js';

/** Arguments of a class-validator decorator, in its own order. */
type Arguments = readonly unknown[];

/** The kind of value and the schema that a class-validator constraint implies. */
interface PlainRule {
  readonly kind?: FieldKind;
  readonly schema?: (args: Arguments) => JsonSchema;
}

const text = (schema: JsonSchema = {}): PlainRule => ({
  kind: 'string',
  schema: () => ({ type: 'string', ...schema }),
});
const keywords = (schema: (args: Arguments) => JsonSchema, kind?: FieldKind): PlainRule => ({ kind, schema });
const numeric = (schema: (args: Arguments) => JsonSchema): PlainRule =>
  keywords((args) => ({ type: 'number', ...schema(args) }), 'number');
const length = (schema: (args: Arguments) => JsonSchema): PlainRule =>
  keywords((args) => defined({ type: 'string', ...schema(args) }), 'string');

/** The keywords of constraints for a list as a whole. */
const LIST_RULES: Readonly<Record<string, (args: Arguments) => JsonSchema>> = {
  isArray: () => ({}),
  arrayContains: () => ({}),
  arrayNotContains: () => ({}),
  arrayNotEmpty: () => ({ minItems: 1 }),
  arrayMinSize: ([min]) => ({ minItems: min as number }),
  arrayMaxSize: ([max]) => ({ maxItems: max as number }),
  arrayUnique: () => ({ uniqueItems: true }),
};

/** Constraints that say nothing about the type of a value. */
const TYPELESS = 'isDefined isOptional notEquals isEmpty isNotEmpty isNotIn minDate maxDate isInstance'.split(
  ' ',
);

/** The names of all other constraints that class-validator exports. Those without a row below accept strings. */
const TYPED = Object.values(validators).filter(
  (name): name is string => typeof name === 'string' && !TYPELESS.includes(name) && !(name in LIST_RULES),
);

/** The constraints of class-validator, by the names that it reports. */
export const PLAIN_RULES: Readonly<Record<string, PlainRule>> = {
  ...Object.fromEntries(TYPED.map((name) => [name, text()])),
  isEmail: text({ format: 'email' }),
  isUrl: text({ format: 'uri' }),
  isUuid: text({ format: 'uuid' }),
  isFqdn: text({ format: 'hostname' }),
  isBase64: text({ format: 'byte' }),
  isDateString: text({ format: 'date-time' }),
  isIso8601: text({ format: 'date-time' }),
  isRFC3339: text({ format: 'date-time' }),
  isIp: length(([version]) => ({ format: ipFormat(version) })),
  isLength: length(([min, max]) => ({ minLength: min as number, maxLength: max as number })),
  minLength: length(([min]) => ({ minLength: min as number })),
  maxLength: length(([max]) => ({ maxLength: max as number })),
  isByteLength: length(([, max]) => ({ maxLength: max as number | undefined })),
  matches: length(([pattern, flags]) => ({ pattern: patternOf(pattern, flags) })),
  isBoolean: { kind: 'boolean', schema: () => ({ type: 'boolean' }) },
  isDate: { kind: 'timestamp', schema: () => ({ type: 'string', format: 'date-time' }) },
  isMongoId: { kind: 'identifier', schema: () => IDENTIFIER_SCHEMA },
  isInt: { kind: 'integer', schema: () => ({ type: 'integer' }) },
  isNumber: numeric(([options]) => decimalPlaces(options)),
  min: numeric(([min]) => ({ minimum: min as number })),
  max: numeric(([max]) => ({ maximum: max as number })),
  // They also accept strings: the TypeScript type decides.
  isLatitude: keywords(() => ({ minimum: -90, maximum: 90 })),
  isLongitude: keywords(() => ({ minimum: -180, maximum: 180 })),
  isPositive: numeric(() => ({ minimum: 0, exclusiveMinimum: true })),
  isNegative: numeric(() => ({ maximum: 0, exclusiveMaximum: true })),
  isDivisibleBy: numeric(([divisor]) => ({ multipleOf: divisor as number })),
  isEnum: { kind: 'enum', schema: ([choices]) => enumSchema(enumValuesOf(choices as EnumValues)) },
  isIn: { kind: 'enum', schema: ([choices]) => enumSchema(enumValuesOf(choices as EnumValues)) },
  equals: keywords(([value]) => (isScalar(value) ? { enum: [value] } : {})),
  isObject: { kind: 'other', schema: () => ({ type: 'object', additionalProperties: true }) },
  isNotEmptyObject: { kind: 'other', schema: () => ({ type: 'object', additionalProperties: true }) },
  nestedValidation: { kind: 'nested', schema: () => ({ type: 'object' }) },
};

/** Whether a constraint is one of class-validator's own, rather than the author's. */
export const isPlainRule = (name: string) => name in PLAIN_RULES || name in LIST_RULES;

/** Kinds from the most to the least specific: `@IsString() @IsEnum()` is an enum. */
const KIND_ORDER: readonly FieldKind[] = [
  'nested',
  'enum',
  'identifier',
  'timestamp',
  'integer',
  'number',
  'boolean',
  'string',
  'decimal',
  'other',
];

function isScalar(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function ipFormat(version: unknown): string | undefined {
  return version === undefined ? undefined : `ipv${String(version)}`;
}

/** A schema cannot contain a pattern whose flags change what it matches. */
function patternOf(pattern: unknown, flags: unknown): string | undefined {
  const expression =
    pattern instanceof RegExp ? pattern : new RegExp(String(pattern), flags as string | undefined);
  return /[imsv]/.test(expression.flags) ? undefined : expression.source;
}

function decimalPlaces(options: unknown): JsonSchema {
  const places = (options as { maxDecimalPlaces?: number } | undefined)?.maxDecimalPlaces;
  return places === undefined ? {} : { multipleOf: Number(`1e-${places}`) };
}

function defined(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}

/** Reads a field that has only class-validator's own decorators. */
export function readPlainField(
  target: Type<object>,
  name: string,
  validations: readonly ValidationMetadata[],
): Omit<FieldDescription, 'name' | 'required'> {
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
    schema: list ? listSchema(entry, kind, rules) : entry,
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
export const KIND_BY_TYPE = new Map<unknown, { kind: FieldKind; schema: JsonSchema }>([
  [String, { kind: 'string', schema: { type: 'string' } }],
  [Number, { kind: 'number', schema: { type: 'number' } }],
  [Boolean, { kind: 'boolean', schema: { type: 'boolean' } }],
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
  return { ...schema, ...(exclusiveMinimum && { minimum: 1 }), ...(exclusiveMaximum && { maximum: -1 }) };
}

/** Constraints of which the schema says all that an example must satisfy. */
const DESCRIBED = new Set(
  'isString isLength minLength maxLength matches isArray arrayNotEmpty arrayMinSize arrayMaxSize arrayUnique'.split(
    ' ',
  ),
);

function listSchema(items: JsonSchema, kind: FieldKind, rules: readonly ValidationMetadata[]): JsonSchema {
  const keywords = rules.map((rule) =>
    LIST_RULES[constraintOf(rule)]?.((rule.constraints ?? []) as unknown[]),
  );
  const { uniqueItems, ...bounds } = Object.assign({}, ...keywords) as JsonSchema;
  // Objects are compared by identity, or by a function that no keyword can describe.
  const comparesValues = kind !== 'nested' && kind !== 'other';
  const schema: JsonSchema = {
    type: 'array',
    items,
    ...bounds,
    ...(uniqueItems && comparesValues && { uniqueItems }),
  };
  return rules.every((rule) => DESCRIBED.has(constraintOf(rule))) ? withTextExample(schema) : schema;
}

/** The name of a constraint, as class-validator reports it. */
export function constraintOf({ name, type }: Pick<ValidationMetadata, 'name' | 'type'>): string {
  return type === 'customValidation' ? (name ?? '') : type;
}
