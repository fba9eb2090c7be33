import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';
import { rangeShape } from './number-range.js';

/** Options of `IsNumber`. */
export interface NumberOptions extends ScalarOptions<number> {
  /** @default none */
  min?: number;
  /** @default none */
  max?: number;
}

/** A finite JSON number (IEEE 754 double); never coerced from a string. */
export function IsNumber(options: NumberOptions = {}): FieldDecorator {
  const { min, max } = options;
  const shape = `a number${rangeShape(min, max)}`;
  return decoratorOf(
    {
      name: 'isFiniteNumber',
      kind: 'number',
      list: false,
      shape,
      refusal: (value) =>
        Number.isFinite(value) &&
        (value as number) >= (min ?? -Infinity) &&
        (value as number) <= (max ?? Infinity)
          ? undefined
          : shape,
      schema: {
        type: 'number',
        ...(min !== undefined && { minimum: min }),
        ...(max !== undefined && { maximum: max }),
      },
      storeType: Number,
    },
    options,
  );
}
