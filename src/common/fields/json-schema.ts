/** The part of an OpenAPI 3.0 schema object (section "Schema Object") that fields need. */
export interface JsonSchema {
  type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  format?: string;
  description?: string;
  example?: unknown;
  default?: unknown;
  nullable?: boolean;
  enum?: (string | number | boolean | null)[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  /** Other keywords, from `@ApiProperty()` options. */
  [keyword: string]: unknown;
}

/** A schema that also accepts null, which in OpenAPI 3.0.3 must be one of the values of an enum as well. */
export function nullable(schema: JsonSchema): JsonSchema {
  return { ...schema, nullable: true, ...(schema.enum && { enum: [...schema.enum, null] }) };
}

/** A schema of a list with an example, if its entries are texts of which bounds and a pattern say all. */
export function withTextExample(list: JsonSchema): JsonSchema {
  const { minItems = 1, items: { type, format, enum: values, example, ...entry } = {} } = list;
  if (type !== 'string' || format !== undefined || values || example !== undefined) return list;
  const { minLength = 0, maxLength = Infinity, pattern = '' } = entry;
  const texts = Array.from({ length: Math.max(minItems, 1) }, (_, i) =>
    `${i || ''}news`.padEnd(minLength, 's').slice(0, maxLength),
  );
  return texts.every((text) => new RegExp(pattern).test(text)) ? { ...list, example: texts } : list;
}

/** A value that a schema describes: its example, its default, or those of its parts; undefined if there is no telling. */
export function exampleOf(schema: JsonSchema): unknown {
  const { example, default: preset, enum: values, type, items, properties = {} } = schema;
  const known = example ?? preset ?? values?.[0];
  if (known !== undefined) return known;
  const members = Object.entries(properties).map(([name, member]) => [name, exampleOf(member)] as const);
  if (members.length > 0) return Object.fromEntries(members);
  const entry = items && exampleOf(items);
  if (entry !== undefined) return [entry];
  return { boolean: true, string: 'text', integer: 1, number: 1, array: [], object: undefined }[
    type ?? 'object'
  ];
}
