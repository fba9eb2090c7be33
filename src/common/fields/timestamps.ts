import { type FieldDecorator, type ScalarOptions, scalar } from './field-rule.js';

/** RFC 3339 as a field's message describes it. */
export const TIMESTAMP_SHAPE =
  'an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z';

/** Options of `IsTimestamp`. */
export interface TimestampOptions extends Omit<ScalarOptions<string>, 'default'> {
  /** Stored if a create omits the field; a function is called for each record. @default none */
  default?: Date | (() => Date);
}

/** A timestamp, sent as an RFC 3339 string and stored as a `Date`. */
export function IsTimestamp(options: TimestampOptions = {}): FieldDecorator {
  return scalar(options, {
    name: 'isTimestamp',
    kind: 'timestamp',
    shape: TIMESTAMP_SHAPE,
    accepts: isTimestampDate,
    schema: { type: 'string', format: 'date-time' },
    storeType: Date,
  });
}

/** date-time of RFC 3339, section 5.6, up to milliseconds: more digits could not be returned. */
const RFC_3339 =
  /^\d{4}-\d{2}-\d{2}[Tt]([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,3})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** The range of years that four digits can express, in milliseconds since 1970. */
const [EARLIEST, LATEST] = [-62_167_219_200_000, 253_402_300_799_999];

/** Parses an RFC 3339 timestamp; undefined if it is not one, or if the day does not exist. */
export function parseTimestamp(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !RFC_3339.test(value)) return undefined;
  const day = value.slice(0, 10);
  // JavaScript takes the 30th of February for the 2nd of March.
  if (new Date(day).getUTCDate() !== Number(day.slice(-2))) return undefined;
  const date = new Date(value.toUpperCase());
  // An offset can move a date out of the years that four digits can express.
  return isTimestampDate(date) ? date : undefined;
}

/** Whether a value is a date that RFC 3339 can express. */
export function isTimestampDate(value: unknown): value is Date {
  return value instanceof Date && value.getTime() >= EARLIEST && value.getTime() <= LATEST;
}
