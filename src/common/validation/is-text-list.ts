import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional, ValidateBy } from 'class-validator';
import { isText, textBounds, type TextOptions, textShape } from './is-text.js';

/** What a list of texts takes. */
export interface TextListOptions {
  /** Most entries. Unit: entries. */
  maxEntries: number;
  /** What each entry must be. */
  entry: TextOptions;
  /** Whether the field may be left out. @default false */
  optional?: boolean;
  description?: string;
  example?: string[];
}

/** An array of texts; never coerced. Also documents the field. */
export function IsTextList(options: TextListOptions): PropertyDecorator {
  return applyDecorators(
    ValidateBy({
      name: 'isTextList',
      validator: {
        validate: (value) =>
          Array.isArray(value) &&
          value.length <= options.maxEntries &&
          value.every((entry) => isText(entry, options.entry)),
        defaultMessage: (args) =>
          `"${args?.property}" must be an array of at most ${options.maxEntries} entries, each ${textShape(options.entry)}.`,
      },
    }),
    ...(options.optional ? [IsOptional()] : []),
    ApiProperty({
      type: 'array',
      items: { type: 'string', ...textBounds(options.entry) },
      maxItems: options.maxEntries,
      required: !options.optional,
      description: options.description,
      example: options.example,
    } as ApiPropertyOptions),
  );
}
