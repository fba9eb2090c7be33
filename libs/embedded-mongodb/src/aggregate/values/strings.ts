import { BSONSymbol, Code, Double, Timestamp } from 'bson';
import { type BsonValue, isNumber, typeName } from '../../bson/types.js';
import { failureAt, unsupported } from '../../errors.js';
import { isNullish } from '../operator.js';
import type { Result } from '../scope.js';

/** A string, or the error that there is none. */
export function text(operator: string, value: Result, code: number): string {
  if (typeof value === 'string') return value;
  if (value instanceof BSONSymbol) return value.value;
  throw failureAt(code, `${operator} only supports strings, not ${typeName(value as BsonValue)}`);
}

/** The same for operators that take no symbol. */
export function required(operator: string, value: Result, code: number): string {
  if (typeof value === 'string') return value;
  const found = value === undefined ? 'missing' : typeName(value);
  throw failureAt(code, `${operator} requires a string argument, found: ${found}`);
}

/** Only ASCII letters change, as in MongoDB. */
export function foldCase(value: Result, fold: (text: string) => string): string {
  return asText(value).replace(/[A-Za-z]+/g, fold);
}

/** A value as a string, as far as MongoDB converts it. */
export function asText(value: Result): string {
  if (isNullish(value)) return '';
  if (typeof value === 'string') return value;
  if (value instanceof BSONSymbol) return value.value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Double || value instanceof Timestamp || value instanceof Code) {
    throw unsupported(`The conversion of ${typeName(value)} to string`);
  }
  if (isNumber(value)) return value.toString();
  throw failureAt(16007, `can't convert from BSON type ${typeName(value)} to String`);
}
