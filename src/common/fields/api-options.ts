import type { JsonSchema } from './json-schema.js';

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
export function withApiOptions(
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
