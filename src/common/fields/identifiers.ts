import type { Type } from '@nestjs/common';
import { Schema, Types } from 'mongoose';
import { isObjectId, OBJECT_ID_INPUT_PATTERN } from '../ids/index.js';
import {
  decoratorOf,
  type FieldDecorator,
  type FieldRule,
  type ScalarOptions,
  scalarRule,
} from './field-rule.js';
import type { JsonSchema } from './json-schema.js';

/** An identifier of 24 hexadecimal digits, stored as an ObjectId. */
export function IsIdentifier(options: ScalarOptions<string> = {}): FieldDecorator {
  return decoratorOf(identifierRule('isIdentifier'), options);
}

/** An identifier as a client sends it, with a valid example that names no record. */
export const IDENTIFIER_SCHEMA = {
  type: 'string',
  pattern: OBJECT_ID_INPUT_PATTERN,
  example: '665f1c2ab7e3a90d4c8b4567',
} as const satisfies JsonSchema;

/** The rule of an identifier. Code may pass an ObjectId. */
function identifierRule(name: string): FieldRule {
  return scalarRule({
    name,
    kind: 'identifier',
    shape: 'an identifier of 24 hexadecimal digits',
    accepts: (value) => value instanceof Types.ObjectId || isObjectId(value),
    schema: IDENTIFIER_SCHEMA,
    storeType: Schema.Types.ObjectId,
  });
}

/** The identifier of another record. @param target returns the class of the record, so that classes can refer to each other */
export function IsReference(target: () => Type<object>, options: ScalarOptions<string> = {}): FieldDecorator {
  return decoratorOf({ ...identifierRule('isReference'), reference: target }, options);
}
