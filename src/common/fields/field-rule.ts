import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional, ValidateBy, ValidateNested } from 'class-validator';
import { Type as TransformType } from 'class-transformer';
import type { JsonSchema } from './json-schema.js';
import type { FieldKind, ValueKind } from './kinds.js';

/** Options of every field decorator. */
export interface FieldOptions<Value = unknown> {
  /** Whether the field may be omitted. @default false */
  optional?: boolean;
  /** Shown in the explorer. */
  description?: string;
  /** Sent by the explorer's "Try it out". */
  example?: Value;
}

/** Options of the decorators of single values. */
export interface ScalarOptions<Value = unknown> extends FieldOptions<Value> {
  /** Stored if a create omits the field. A field with a default is optional. @default none */
  default?: Value;
}

/** How values of a field are checked, documented and stored. For nested classes, `schema` only says that a value is an object. */
export interface FieldRule extends ValueKind {
  /** Name of the constraint, such as "isText". */
  readonly name: string;
  readonly kind: FieldKind;
  /** Whether the field holds a list of that kind. @default false */
  readonly list?: boolean;
  /** Noun phrase that says what a rejected value must be. @default shape */
  readonly shapeFor?: (value: unknown) => string;
  /** Mongoose type of one value or entry; absent for nested classes. */
  readonly storeType?: unknown;
  /** Whether Mongoose's `required` can be used: it also rejects empty strings. @default true */
  readonly storeRequired?: boolean;
  /** Class of the nested object, or of a list's entries. */
  readonly nested?: () => Type<object>;
  /** Target class of a reference. */
  readonly reference?: () => Type<object>;
  /** Values of an enum. */
  readonly values?: readonly (string | number)[];
}

/** A field of a class, as its decorators describe it. */
export interface FieldDescription extends Pick<FieldRule, 'kind' | 'reference' | 'values'> {
  readonly name: string;
  readonly list: boolean;
  /** Whether a create must contain it. */
  readonly required: boolean;
  /** The declaration, if a decorator of this package describes the field, and so its path in the store. */
  readonly declaration?: FieldDeclaration;
  /** Class of the nested object, or of a list's entries. */
  readonly nested?: Type<object>;
  /** Stored if a create omits the field. */
  readonly default?: unknown;
  /** OpenAPI 3.0 schema of the field's value, with nested classes inlined. */
  readonly schema: JsonSchema;
}

/** A field decorator. `IsListOf` accepts one of a single value as the rule of its entries. */
export type FieldDecorator = PropertyDecorator & { readonly rule: FieldRule };

/** The declaration that a field decorator stores in the validation metadata, which mapped types such as PickType copy. */
export class FieldDeclaration {
  constructor(
    readonly rule: FieldRule,
    readonly options: ScalarOptions,
  ) {}

  /** The schema of the field's value, including its options. */
  get schema(): JsonSchema {
    const { description, example } = this.options;
    const documented = { description, example, default: documentedDefault(this.options.default) };
    const given = Object.entries(documented).filter(([, value]) => value !== undefined);
    return { ...this.rule.schema, ...Object.fromEntries(given) };
  }
}

/** A default as JSON shows it; undefined if it is made for each record, or has no short form. */
export function documentedDefault(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return ['string', 'number', 'boolean'].includes(typeof value) ? value : undefined;
}

/** Makes the decorator of a rule: validation, documentation, and the declaration that `fieldsOf` reads. */
export function decoratorOf(options: ScalarOptions, rule: FieldRule): FieldDecorator {
  const declaration = new FieldDeclaration(rule, options);
  const { name, nested, list = false, accepts, shape, shapeFor } = rule;
  const optional = options.optional === true || options.default !== undefined;
  // @nestjs/swagger treats a function as a class unless the function's name is "type".
  const type = nested ? { type: () => nested(), isArray: list, items: undefined } : {};
  const decorator = applyDecorators(
    ValidateBy({
      name,
      constraints: [declaration],
      validator: {
        validate: accepts,
        defaultMessage: (args) => `"${args?.property}" must be ${shapeFor?.(args?.value) ?? shape}.`,
      },
    }),
    ...(optional ? [IsOptional()] : []),
    ...(nested ? [ValidateNested({ each: list }), TransformType(nested)] : []),
    ApiProperty({ ...declaration.schema, ...type, required: !optional } as ApiPropertyOptions),
  );
  return Object.assign(decorator, { rule });
}
