import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, ValidateBy } from 'class-validator';

/** What a boolean field takes. */
export interface FlagOptions {
  /** Whether the field may be left out. @default false */
  optional?: boolean;
  description?: string;
  example?: boolean;
}

/** A JSON boolean; never coerced from a string or number. Also documents the field. */
export function IsFlag({ optional = false, description, example }: FlagOptions = {}): PropertyDecorator {
  return applyDecorators(
    ValidateBy({
      name: 'isFlag',
      validator: {
        validate: (value) => typeof value === 'boolean',
        defaultMessage: (args) => `"${args?.property}" must be true or false.`,
      },
    }),
    ...(optional ? [IsOptional()] : []),
    ApiProperty({ type: Boolean, required: !optional, description, example }),
  );
}
