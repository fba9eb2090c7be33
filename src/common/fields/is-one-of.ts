import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';

/** A TypeScript enum, or an array of the values. */
export type EnumValues = Readonly<Record<string, string | number>> | readonly (string | number)[];

/** Options of `IsOneOf`. */
export type OneOfOptions = ScalarOptions<string | number>;

/** One of the values of an enum, compared exactly; never coerced. */
export function IsOneOf(choices: EnumValues, options: OneOfOptions = {}): FieldDecorator {
  const values = enumValuesOf(choices);
  const shape = `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
  const isNumeric = values.every((value) => typeof value === 'number');
  const isText = values.every((value) => typeof value === 'string');
  return decoratorOf(
    {
      name: 'isOneOf',
      kind: 'enum',
      list: false,
      shape,
      refusal: (value) => (values.includes(value as string) ? undefined : shape),
      schema: {
        ...(isNumeric ? { type: 'number' } : isText ? { type: 'string' } : {}),
        enum: [...values],
      },
      storeType: isNumeric ? Number : isText ? String : Object,
      storeRequired: !values.includes(''),
      values,
    },
    options,
  );
}

/** The values of an enum or an array. A numeric enum of TypeScript also maps its numbers back to names: those are left out. */
export function enumValuesOf(choices: EnumValues): readonly (string | number)[] {
  if (Array.isArray(choices)) return [...new Set(choices as readonly (string | number)[])];
  const entries = Object.entries(choices as Record<string, string | number>);
  return [...new Set(entries.filter(([name]) => !/^-?\d+(\.\d+)?$/.test(name)).map(([, value]) => value))];
}
