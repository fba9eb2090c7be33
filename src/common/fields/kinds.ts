import { Types } from 'mongoose';
import { isObjectId, OBJECT_ID_INPUT_PATTERN } from '../ids/index.js';
import type { JsonSchema } from './json-schema.js';
import { isPlainObject } from './plain-object.js';

/** What the values of a kind are. */
export interface ValueKind {
  /** Noun phrase for them. */
  readonly shape: string;
  readonly schema: JsonSchema;
  readonly accepts: (value: unknown) => boolean;
}

/** RFC 3339 as a field's message describes it. */
const TIMESTAMP_SHAPE = 'an RFC 3339 timestamp, to the millisecond at most, such as 2026-01-31T09:00:00.000Z';

/** The kinds of values that a field can hold, from the most to the least specific: `@IsString() @IsEnum()` is an enum. */
export const KINDS = {
  nested: { shape: 'an object', schema: { type: 'object' }, accepts: isPlainObject },
  /** Each enum has its own: {@link enumKind}. */
  enum: { shape: 'one of several values', schema: {}, accepts: () => true },
  identifier: {
    shape: 'an identifier of 24 hexadecimal digits',
    // An example that names no record.
    schema: { type: 'string', pattern: OBJECT_ID_INPUT_PATTERN, example: '665f1c2ab7e3a90d4c8b4567' },
    // Code may pass an ObjectId.
    accepts: (value) => value instanceof Types.ObjectId || isObjectId(value),
  },
  timestamp: {
    shape: TIMESTAMP_SHAPE,
    schema: { type: 'string', format: 'date-time' },
    accepts: isTimestampDate,
  },
  integer: { shape: 'a whole number', schema: { type: 'integer' }, accepts: Number.isInteger },
  // JSON can write numbers that are too large for a double, such as 1e999.
  number: { shape: 'a number', schema: { type: 'number' }, accepts: Number.isFinite },
  boolean: {
    shape: 'true or false',
    schema: { type: 'boolean' },
    accepts: (value) => typeof value === 'boolean',
  },
  decimal: {
    shape: 'a decimal string',
    schema: { type: 'string', format: 'decimal' },
    accepts: (value) => typeof value === 'string',
  },
  string: { shape: 'a string', schema: { type: 'string' }, accepts: (value) => typeof value === 'string' },
  other: { shape: 'a value', schema: {}, accepts: () => true },
} as const satisfies Record<string, ValueKind>;

export type FieldKind = keyof typeof KINDS;

/** A TypeScript enum, or an array of the values. */
export type EnumValues = Readonly<Record<string, string | number>> | readonly (string | number)[];

/** The values of an enum or an array. The reverse mapping of a numeric enum, from numbers to names, is left out. */
function enumValuesOf(choices: EnumValues): readonly (string | number)[] {
  if (Array.isArray(choices)) return [...new Set(choices as readonly (string | number)[])];
  const entries = Object.entries(choices as Record<string, string | number>);
  const isReverse = (name: string, value: unknown) =>
    /^-?\d+(\.\d+)?$/.test(name) && (choices as Record<string, unknown>)[String(value)] === Number(name);
  return [...new Set(entries.filter(([name, value]) => !isReverse(name, value)).map(([, value]) => value))];
}

/** The values of an enum, compared exactly. */
export function enumKind(choices: EnumValues) {
  const values = enumValuesOf(choices);
  const isEach = (type: string) => values.every((value) => typeof value === type);
  const type = values.every(Number.isInteger) ? 'integer' : (['number', 'string'] as const).find(isEach);
  return {
    values,
    shape: `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`,
    schema: { ...(type && { type }), enum: [...values] },
    accepts: (value: unknown) => values.includes(value as string),
  } satisfies ValueKind & { values: unknown };
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
function isTimestampDate(value: unknown): value is Date {
  return value instanceof Date && value.getTime() >= EARLIEST && value.getTime() <= LATEST;
}
