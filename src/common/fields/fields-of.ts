import type { Type } from '@nestjs/common';
import type { FieldDescription } from './field-description.js';

/** Fields of a class in order of declaration, base classes first. */
export function fieldsOf(_target: Type<object>): readonly FieldDescription[] {
  throw new Error('fieldsOf is not written yet');
}

/** Names that a class declares without any validation decorator. */
export function unvalidatedFieldsOf(_target: Type<object>): readonly string[] {
  throw new Error('unvalidatedFieldsOf is not written yet');
}
