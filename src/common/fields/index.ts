export { fieldAt, fieldsOf, jsonSchemaOf, unvalidatedFieldsOf } from './fields.js';
export type { FieldDecorator, FieldDescription, FieldOptions, ScalarOptions } from './field-rule.js';
export { type BodyOptions, InputReader, isChecked, markChecked, shorten } from './input-reader.js';
export {
  type DecimalOptions,
  IsDecimal,
  IsNumber,
  IsWholeNumber,
  type NumberOptions,
  type WholeNumberOptions,
} from './numbers.js';
export { type EnumValues, parseTimestamp } from './kinds.js';
export {
  IsFlag,
  IsIdentifier,
  IsOneOf,
  IsReference,
  IsTimestamp,
  type TimestampOptions,
} from './single-values.js';
export { IsListOf, IsNested, type ListOptions } from './nested.js';
export { IsText, type TextOptions } from './is-text.js';
export { exampleOf, type JsonSchema, nullable } from './json-schema.js';
export { apiNamesOf, apiOptionsOf, isClass } from './metadata.js';
export { isPlainObject, mergePatch } from './plain-object.js';
export { schemaOf } from './store-of.js';
export { splitList, TextReader } from './text-reader.js';
