import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional, ValidateBy } from 'class-validator';

/** What a text field takes. Unit of the lengths: characters (Unicode code points). */
export interface TextOptions {
  /** @default 0 */
  min?: number;
  max: number;
  /** Whether white space around the text counts towards its length; the text is stored as sent either way. @default true */
  countsOuterSpace?: boolean;
  /** Whether the field may be left out. @default false */
  optional?: boolean;
  /** Shown in the explorer. */
  description?: string;
  /** Sent by the explorer's "Try it out". */
  example?: string;
}

/** A string of well-formed Unicode within its bounds; never coerced. Also documents the field. */
export function IsText(options: TextOptions): PropertyDecorator {
  return applyDecorators(
    ValidateBy({
      name: 'isText',
      validator: {
        validate: (value) => isText(value, options),
        defaultMessage: (args) => `"${args?.property}" must be ${textShape(options)}.`,
      },
    }),
    ...(options.optional ? [IsOptional()] : []),
    ApiProperty({
      type: String,
      required: !options.optional,
      description: options.description,
      example: options.example,
      ...textBounds(options),
    } as ApiPropertyOptions),
  );
}

/** Whether a value is a text within the bounds. */
export function isText(
  value: unknown,
  { min = 0, max, countsOuterSpace = true }: TextOptions,
): value is string {
  // A lone surrogate has no UTF-8 form: the database would store another character than the one sent.
  if (typeof value !== 'string' || !isWellFormed(value)) return false;
  const length = [...(countsOuterSpace ? value : value.trim())].length;
  return length >= min && length <= max;
}

/** The bounds of a text as a person reads them. */
export function textShape({ min = 0, max, countsOuterSpace = true }: TextOptions): string {
  const bounds = min > 0 ? `${min} to ${max}` : `at most ${max}`;
  return `a string of ${bounds} characters${countsOuterSpace ? '' : ', not counting white space around it'}`;
}

/** The bounds of a text as JSON Schema keywords. */
export function textBounds({ min = 0, max, countsOuterSpace = true }: TextOptions): object {
  if (countsOuterSpace) return { ...(min > 0 && { minLength: min }), maxLength: max };
  return { minLength: min, pattern: `^\\s*\\S(?:[\\s\\S]{0,${max - 2}}\\S)?\\s*$` };
}

function isWellFormed(value: string): boolean {
  return !/\p{Surrogate}/u.test(value);
}
