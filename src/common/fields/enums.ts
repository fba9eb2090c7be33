import { type FieldDecorator, type ScalarOptions, scalar } from './field-rule.js';
import type { JsonSchema } from './json-schema.js';

/** One of the values of an enum, compared exactly; never coerced. */
export function IsOneOf(choices: EnumValues, options: ScalarOptions<string | number> = {}): FieldDecorator {
  const values = enumValuesOf(choices);
  const isNumeric = values.every((value) => typeof value === 'number');
  const isText = values.every((value) => typeof value === 'string');
  return scalar(options, {
    name: 'isOneOf',
    kind: 'enum',
    shape: `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`,
    accepts: (value) => values.includes(value as string),
    schema: enumSchema(values),
    storeType: isNumeric ? Number : isText ? String : Object,
    storeRequired: !values.includes(''),
    values,
  });
}

/** A TypeScript enum, or an array of the values. */
export type EnumValues = Readonly<Record<string, string | number>> | readonly (string | number)[];

/** The values of an enum or an array. The reverse mapping of a numeric enum, from numbers to names, is left out. */
export function enumValuesOf(choices: EnumValues): readonly (string | number)[] {
  if (Array.isArray(choices)) return [...new Set(choices as readonly (string | number)[])];
  const entries = Object.entries(choices as Record<string, string | number>);
  const isReverse = (name: string, value: unknown) =>
    /^-?\d+(\.\d+)?$/.test(name) && (choices as Record<string, unknown>)[String(value)] === Number(name);
  return [...new Set(entries.filter(([name, value]) => !isReverse(name, value)).map(([, value]) => value))];
}

/** The schema of values that are compared exactly. */
export function enumSchema(values: readonly (string | number)[]): JsonSchema {
  const isEach = (type: string) => values.every((value) => typeof value === type);
  if (values.every(Number.isInteger)) return { type: 'integer', enum: [...values] };
  if (isEach('number')) return { type: 'number', enum: [...values] };
  return { ...(isEach('string') && { type: 'string' as const }), enum: [...values] };
}

/** A JSON boolean; never coerced from a string or number. */
export function IsFlag(options: ScalarOptions<boolean> = {}): FieldDecorator {
  return scalar(options, {
    name: 'isFlag',
    kind: 'boolean',
    shape: 'true or false',
    accepts: (value) => typeof value === 'boolean',
    schema: { type: 'boolean' },
    storeType: Boolean,
  });
}
