import type { Type } from '@nestjs/common';
import { decoratorOf, type FieldDecorator, type FieldOptions } from './field-rule.js';
import { isPlainObject } from './plain-object.js';

/** Options of `IsNested`. */
export type NestedOptions = FieldOptions<object>;

/** A nested object with the fields of a class, checked as strictly as the body itself. */
export function IsNested(type: () => Type<object>, options: NestedOptions = {}): FieldDecorator {
  const shape = 'an object';
  return decoratorOf(
    {
      name: 'isNested',
      kind: 'nested',
      list: false,
      shape,
      refusal: (value) => (isPlainObject(value) ? undefined : shape),
      schema: { type: 'object' },
      nested: type,
    },
    options,
  );
}
