import { enumSchema, type EnumValues, enumValuesOf } from './enum-values.js';
import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';

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
      schema: enumSchema(values),
      storeType: isNumeric ? Number : isText ? String : Object,
      storeRequired: !values.includes(''),
      values,
    },
    options,
  );
}
