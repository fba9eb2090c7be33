import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';

/** Options of `IsFlag`. */
export type FlagOptions = ScalarOptions<boolean>;

/** A JSON boolean; never coerced from a string or number. */
export function IsFlag(options: FlagOptions = {}): FieldDecorator {
  const shape = 'true or false';
  return decoratorOf(
    {
      name: 'isFlag',
      kind: 'flag',
      list: false,
      shape,
      refusal: (value) => (typeof value === 'boolean' ? undefined : shape),
      schema: { type: 'boolean' },
      storeType: Boolean,
    },
    options,
  );
}
