import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsOptional, ValidateBy } from 'class-validator';

/** What a timestamp field takes. */
export interface TimestampOptions {
  /** Whether the field may be left out. @default false */
  optional?: boolean;
  description?: string;
  example?: string;
}

/** date-time of RFC 3339, section 5.6, to the millisecond: finer digits could not be given back. */
const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(\.\d{1,3})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** A timestamp, sent as an RFC 3339 string and held as a `Date`. Also documents the field. */
export function IsTimestamp({
  optional = false,
  description,
  example,
}: TimestampOptions = {}): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => parseTimestamp(value) ?? value, { toClassOnly: true }),
    ValidateBy({
      name: 'isTimestamp',
      validator: {
        validate: (value) => value instanceof Date,
        defaultMessage: (args) =>
          `"${args?.property}" must be an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z.`,
      },
    }),
    ...(optional ? [IsOptional()] : []),
    ApiProperty({ type: String, format: 'date-time', required: !optional, description, example }),
  );
}

/** Parses an RFC 3339 timestamp; undefined where it is none, or names a day that the calendar does not have. */
export function parseTimestamp(value: unknown): Date | undefined {
  const match = typeof value === 'string' ? RFC_3339.exec(value) : null;
  if (!match) return undefined;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month - 1, day);
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return undefined;
  const date = new Date((value as string).toUpperCase());
  // An offset can carry a date out of the years that four digits can write.
  const inRange = date.getTime() >= -62_167_219_200_000 && date.getTime() <= 253_402_300_799_999;
  return inRange ? date : undefined;
}
