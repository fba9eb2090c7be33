import type { Type } from '@nestjs/common';
import type { SchemaDefinitionProperty } from 'mongoose';
import type { FieldKind } from './field-rule.js';
import type { JsonSchema } from './json-schema.js';

/** A field of a class, as its decorators describe it. */
export interface FieldDescription {
  readonly name: string;
  /** Whether a create must contain it. */
  readonly required: boolean;
  readonly kind: FieldKind;
  /** Whether it holds a list of that kind. */
  readonly list: boolean;
  /** Class of the nested object, or of a list's entries. */
  readonly nested?: Type<object>;
  /** Target class of a reference. */
  readonly reference?: () => Type<object>;
  /** Stored if a create omits the field. */
  readonly default?: unknown;
  /** Values of an enum. */
  readonly values?: readonly (string | number)[];
  /** OpenAPI 3.0 schema of the field's value, with nested classes inlined. */
  readonly schema: JsonSchema;
  /** Mongoose's definition of the path, for a field decorator; undefined for plain class-validator fields. */
  readonly store?: SchemaDefinitionProperty;
}
