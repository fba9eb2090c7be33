import { Schema, Types } from 'mongoose';
import { decoratorOf, type FieldDecorator, type ScalarOptions } from './field-rule.js';

/** Options of `IsNumber`. */
export interface NumberOptions extends ScalarOptions<number> {
  /** @default none */
  min?: number;
  /** @default none */
  max?: number;
}

/** A finite JSON number (IEEE 754 double); never coerced from a string. */
export function IsNumber(options: NumberOptions = {}): FieldDecorator {
  const { min, max } = options;
  return decoratorOf(options, {
    name: 'isFiniteNumber',
    kind: 'number',
    shape: `a number${rangeShape(min, max)}`,
    accepts: within(Number.isFinite, min, max),
    schema: {
      type: 'number',
      ...(min !== undefined && { minimum: min }),
      ...(max !== undefined && { maximum: max }),
    },
    storeType: Number,
  });
}

/** Accepts numbers of a type within bounds. */
function within(isOfType: (value: unknown) => boolean, min = -Infinity, max = Infinity) {
  return (value: unknown) => isOfType(value) && (value as number) >= min && (value as number) <= max;
}

/** The bounds of a number as a person reads them: " from 1 to 5", ", at least 1", ", at most 5", or nothing. */
function rangeShape(min?: number | string, max?: number | string): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return `, at least ${min}`;
  return max === undefined ? '' : `, at most ${max}`;
}

/** Options of `IsWholeNumber`. */
export interface WholeNumberOptions extends ScalarOptions<number> {
  /** @default -9007199254740991, the least integer that a JSON reader keeps exactly (RFC 8259, section 6) */
  min?: number;
  /** @default 9007199254740991 */
  max?: number;
}

/** A JSON number without a fraction; never coerced from a string. */
export function IsWholeNumber(options: WholeNumberOptions = {}): FieldDecorator {
  const { min, max } = options;
  return decoratorOf(options, {
    name: 'isWholeNumber',
    kind: 'integer',
    shape: `a whole number${rangeShape(min, max)}`,
    accepts: within(Number.isSafeInteger, min, max),
    schema: {
      type: 'integer',
      minimum: min ?? Number.MIN_SAFE_INTEGER,
      maximum: max ?? Number.MAX_SAFE_INTEGER,
    },
    storeType: Number,
  });
}

/** Options of `IsDecimal`. */
export interface DecimalOptions extends ScalarOptions<string> {
  /** Maximum number of digits after the decimal point. */
  scale: number;
  /** @default none */
  min?: number | string;
  /** @default none */
  max?: number | string;
}

/** Number of digits that IEEE 754 decimal128 keeps exactly. */
const PRECISION = 34;

/** A decimal number as a string such as "12.50", stored exactly as a Decimal128. */
export function IsDecimal(options: DecimalOptions): FieldDecorator {
  const { scale, min, max } = options;
  const fraction = scale > 0 ? `(\\.\\d{1,${scale}})?` : '';
  const pattern = new RegExp(`^-?(0|[1-9]\\d*)${fraction}$`);
  const digits =
    scale > 0 ? `a decimal string with at most ${scale} digits after the point` : 'an integer string';
  const shape = `${digits}${rangeShape(min, max).replace(/^ from/, ', from')}, such as "${exampleOf(options)}"`;
  const accepts = (value: unknown) => {
    const text = value instanceof Types.Decimal128 ? value.toString() : value;
    return (
      typeof text === 'string' &&
      pattern.test(text) &&
      text.replace(/\D/g, '').length <= PRECISION &&
      (min === undefined || unscaled(text) >= unscaled(String(min))) &&
      (max === undefined || unscaled(text) <= unscaled(String(max)))
    );
  };
  return decoratorOf(options, {
    name: 'isExactDecimal',
    kind: 'decimal',
    shape,
    accepts,
    schema: { type: 'string', format: 'decimal', pattern: pattern.source },
    storeType: Schema.Types.Decimal128,
  });
}

function exampleOf({ example, min, scale }: DecimalOptions): string {
  return example ?? (min === undefined ? `12${scale > 0 ? `.${'5'.padEnd(scale, '0')}` : ''}` : String(min));
}

/** A decimal string, such as "12.50", as a number that can be compared exactly: in units of the smallest fraction. */
function unscaled(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(PRECISION, '0'));
}
