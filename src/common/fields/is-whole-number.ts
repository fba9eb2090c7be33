import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';
import { rangeShape } from './number-range.js';

/** Options of `IsWholeNumber`. */
export interface WholeNumberOptions extends ScalarOptions<number> {
  /** @default -9007199254740991, the least integer that a JSON reader keeps exactly (RFC 8259, section 6) */
  min?: number;
  /** @default 9007199254740991 */
  max?: number;
}

/** A JSON number without a fraction; never coerced from a string. */
export function IsWholeNumber(options: WholeNumberOptions = {}): FieldDecorator {
  const { min, max } = options;
  const shape = `a whole number${rangeShape(min, max)}`;
  const [least, most] = [min ?? Number.MIN_SAFE_INTEGER, max ?? Number.MAX_SAFE_INTEGER];
  return decoratorOf(
    {
      name: 'isWholeNumber',
      kind: 'integer',
      list: false,
      shape,
      refusal: (value) =>
        Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
          ? undefined
          : shape,
      schema: { type: 'integer', minimum: least, maximum: most },
      storeType: Number,
    },
    options,
  );
}
