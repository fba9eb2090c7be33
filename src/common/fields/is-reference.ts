import type { Type } from '@nestjs/common';
import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';
import { identifierRule } from './is-identifier.js';

/** Options of `IsReference`. */
export type ReferenceOptions = ScalarOptions<string>;

/**
 * The identifier of another record: 24 hexadecimal digits for clients, an ObjectId in the store.
 *
 * @param target returns the class of the record, so that classes can refer to each other
 */
export function IsReference(target: () => Type<object>, options: ReferenceOptions = {}): FieldDecorator {
  return decoratorOf({ ...identifierRule('isReference'), reference: target }, options);
}
