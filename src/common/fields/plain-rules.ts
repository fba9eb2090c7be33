import type { Type } from '@nestjs/common';
import * as validators from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';
import type { FieldDescription } from './field-rule.js';
import { type JsonSchema, withTextExample } from './json-schema.js';
import { enumKind, type EnumValues, type FieldKind, KINDS } from './kinds.js';
import { designTypeOf, isClass, isConditional, transformTypeOf } from './metadata.js';

/** The keywords that a constraint adds to a schema, by the arguments of its decorator, in their order. */
type Keywords = (args: readonly unknown[]) => JsonSchema;

/** The kind of value that a class-validator constraint implies, and what it says of the value. */
interface PlainRule {
  readonly kind?: FieldKind;
  readonly keywords?: Keywords;
}

const rule = (kind: FieldKind, keywords?: Keywords): PlainRule => ({ kind, keywords });
const format = (name: string) => rule('string', () => ({ format: name }));
const choice = rule('enum', ([choices]) => enumKind(choices as EnumValues).schema);
const open = rule('other', () => ({ type: 'object', additionalProperties: true }));

/** The keywords of constraints for a list as a whole. */
const LIST_RULES: Readonly<Record<string, Keywords>> = {
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
  ...Object.fromEntries(TYPED.map((name) => [name, rule('string')])),
  isEmail: format('email'),
  isUrl: format('uri'),
  isUuid: format('uuid'),
  isFqdn: format('hostname'),
  isBase64: format('byte'),
  isDateString: format('date-time'),
  isIso8601: format('date-time'),
  isRFC3339: format('date-time'),
  isIp: rule('string', ([version]) => (version === undefined ? {} : { format: `ipv${String(version)}` })),
  isLength: rule('string', ([min, max]) => ({ minLength: min as number, maxLength: max as number })),
  minLength: rule('string', ([min]) => ({ minLength: min as number })),
  maxLength: rule('string', ([max]) => ({ maxLength: max as number })),
  isByteLength: rule('string', ([, max]) => ({ maxLength: max as number })),
  matches: rule('string', patternOf),
  isBoolean: rule('boolean'),
  isDate: rule('timestamp'),
  isMongoId: rule('identifier'),
  isInt: rule('integer'),
  isNumber: rule('number', decimalPlaces),
  min: rule('number', ([min]) => ({ minimum: min as number })),
  max: rule('number', ([max]) => ({ maximum: max as number })),
  // They also accept strings: the TypeScript type decides.
  isLatitude: { keywords: () => ({ minimum: -90, maximum: 90 }) },
  isLongitude: { keywords: () => ({ minimum: -180, maximum: 180 }) },
  isPositive: rule('number', () => ({ minimum: 0, exclusiveMinimum: true })),
  isNegative: rule('number', () => ({ maximum: 0, exclusiveMaximum: true })),
  isDivisibleBy: rule('number', ([divisor]) => ({ multipleOf: divisor as number })),
  isEnum: choice,
  isIn: choice,
  equals: { keywords: ([value]) => (isScalar(value) ? { enum: [value] } : {}) },
  isObject: open,
  isNotEmptyObject: open,
  nestedValidation: rule('nested'),
};

/** Whether a constraint is one of class-validator's own, rather than the author's. */
export const isPlainRule = (name: string) => name in PLAIN_RULES || name in LIST_RULES;

/** The kinds of fields that only their TypeScript types describe. */
const KINDS_OF_TYPES = new Map<unknown, FieldKind>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
  [Date, 'timestamp'],
]);

/** The schema of a TypeScript type; undefined if it says nothing about values. */
export function schemaOfType(type: unknown): JsonSchema | undefined {
  // JSON has no such numbers: they are strings in every response.
  if (type === BigInt) return { type: 'string', pattern: '^-?\\d+$' };
  const kind = KINDS_OF_TYPES.get(type);
  return kind && KINDS[kind].schema;
}

function isScalar(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** A schema cannot contain a pattern whose flags change what it matches. */
function patternOf([pattern, flags]: readonly unknown[]): JsonSchema {
  const expression =
    pattern instanceof RegExp ? pattern : new RegExp(String(pattern), flags as string | undefined);
  return /[imsv]/.test(expression.flags) ? {} : { pattern: expression.source };
}

function decimalPlaces([options]: readonly unknown[]): JsonSchema {
  const { maxDecimalPlaces: places } = (options ?? {}) as { maxDecimalPlaces?: number };
  return places === undefined ? {} : { multipleOf: Number(`1e-${places}`) };
}

/** Reads a field that has only class-validator's own decorators. */
export function readPlainField(
  target: Type<object>,
  name: string,
  validations: readonly ValidationMetadata[],
): Omit<FieldDescription, 'name' | 'required'> {
  const rules = validations.filter((validation) => !isConditional(validation));
  const declared = designTypeOf(target, name);
  const list =
    declared === Array || rules.some(({ each, ...rest }) => each || constraintOf(rest) in LIST_RULES);
  const designType = list ? undefined : declared;
  const transformType = transformTypeOf(target, name);
  const kind = kindOf(rules, designType, transformType);
  const nested = kind === 'nested' && [transformType, designType].find(isClass);
  const entry = schemaOfRules(rules, kind, designType);
  return {
    kind,
    list,
    ...(nested && { nested }),
    ...(kind === 'enum' && { values: entry.enum as (string | number)[] }),
    schema: list ? listSchema(entry, kind, rules) : entry,
  };
}

function kindOf(
  rules: readonly ValidationMetadata[],
  designType: unknown,
  transformType: unknown,
): FieldKind {
  const kinds = rules.map((validation) => PLAIN_RULES[constraintOf(validation)]?.kind);
  const found = (Object.keys(KINDS) as FieldKind[]).find((kind) => kinds.includes(kind));
  return found ?? KINDS_OF_TYPES.get(transformType === Date ? Date : designType) ?? 'other';
}

function schemaOfRules(
  rules: readonly ValidationMetadata[],
  kind: FieldKind,
  designType: unknown,
): JsonSchema {
  const said = keywordsOf(rules, (name) => PLAIN_RULES[name]?.keywords);
  const schema = { ...(kind === 'other' ? schemaOfType(designType) : KINDS[kind].schema), ...said };
  const isNotEmpty = rules.some((validation) => constraintOf(validation) === 'isNotEmpty');
  if (isNotEmpty && schema.type === 'string' && !schema.enum && !schema.format) schema.minLength ??= 1;
  return kind === 'integer' ? wholeBounds(schema) : schema;
}

function keywordsOf(
  rules: readonly ValidationMetadata[],
  find: (constraint: string) => Keywords | undefined,
): JsonSchema {
  const given = rules.flatMap((validation) =>
    Object.entries(find(constraintOf(validation))?.((validation.constraints ?? []) as unknown[]) ?? {}),
  );
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
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
  const { uniqueItems, ...bounds } = keywordsOf(rules, (name) => LIST_RULES[name]);
  // Objects are compared by identity, or by a function that no keyword can describe.
  const isUnique = uniqueItems && kind !== 'nested' && kind !== 'other';
  const schema: JsonSchema = { type: 'array', items, ...bounds, ...(isUnique && { uniqueItems }) };
  return rules.every((validation) => DESCRIBED.has(constraintOf(validation)))
    ? withTextExample(schema)
    : schema;
}

/** The name of a constraint, as class-validator reports it. */
export function constraintOf({ name, type }: Pick<ValidationMetadata, 'name' | 'type'>): string {
  return type === 'customValidation' ? (name ?? '') : type;
}
