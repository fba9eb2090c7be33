export type { FieldDescription } from './field-source.js';
export { fieldAt, fieldsOf, unvalidatedFieldsOf } from './fields.js';
export type { FieldDecorator, FieldKind, FieldOptions, ScalarOptions } from './field-rule.js';
export {
  InputReader,
  type InputReaderOptions,
  isChecked,
  markChecked,
  type ReadOptions,
  shorten,
} from './input-reader.js';
export {
  type DecimalOptions,
  IsDecimal,
  IsNumber,
  IsWholeNumber,
  type NumberOptions,
  type WholeNumberOptions,
} from './numbers.js';
export { type EnumValues, type FlagOptions, IsFlag, IsOneOf, type OneOfOptions } from './enums.js';
export { type IdentifierOptions, IsIdentifier, IsReference, type ReferenceOptions } from './identifiers.js';
export { IsListOf, IsNested, type ListOptions, type NestedOptions } from './nested.js';
export { IsText, IsTextList, type TextBounds, type TextListOptions, type TextOptions } from './is-text.js';
export { IsTimestamp, parseTimestamp, type TimestampOptions } from './timestamps.js';
export { type JsonSchema, jsonSchemaOf, type SchemaOptions } from './json-schema.js';
export { apiNamesOf, apiOptionsOf } from './metadata.js';
export { isPlainObject, mergePatch } from './plain-object.js';
export { schemaOf } from './store-of.js';
