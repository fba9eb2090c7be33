import { BSONSymbol, Code, Double, Int32, Timestamp } from 'bson';
import { compareStrings } from '../../bson/compare.js';
import { toDouble } from '../../bson/numbers.js';
import { type BsonValue, isNumber, typeName } from '../../bson/types.js';
import { failureAt, unsupported } from '../../errors.js';
import type { Result } from '../scope.js';
import { binary, isNullish, nullable, type Operator, unary, variadic } from './operator.js';

export const stringOperators: Record<string, Operator> = {
  $concat: variadic(concat, { folds: 'adjacent' }),
  $toLower: unary((value) => foldCase(value, (each) => each.toLowerCase())),
  $toUpper: unary((value) => foldCase(value, (each) => each.toUpperCase())),
  $strLenCP: unary((value) => new Int32([...required('$strLenCP', value, 34471)].length)),
  $strLenBytes: unary((value) => new Int32(Buffer.byteLength(required('$strLenBytes', value, 34473)))),
  $strcasecmp: binary((a, b) => new Int32(Math.sign(compareStrings(upper(a), upper(b))))),
  $substrCP: variadic(([value, start, length]) => substring(value, start, length), { least: 3, most: 3 }),
  $split: nullable(binary(split)),
};

/** Longest string that may be put together. Unit: bytes. */
const maxBytes = 16 * 1024 * 1024;

function concat(operands: Iterable<Result>): Result {
  let result = '';
  for (const each of operands) {
    if (isNullish(each)) return null;
    result += text('$concat', each, 16702);
  }
  if (Buffer.byteLength(result) <= maxBytes) return result;
  throw failureAt(16493, 'Tried to create string longer than 16MB');
}

function text(operator: string, value: Result, code: number): string {
  if (typeof value === 'string') return value;
  if (value instanceof BSONSymbol) return value.value;
  throw failureAt(code, `${operator} only supports strings, not ${typeName(value as BsonValue)}`);
}

function required(operator: string, value: Result, code: number): string {
  if (typeof value === 'string') return value;
  const found = value === undefined ? 'missing' : typeName(value);
  throw failureAt(code, `${operator} requires a string argument, found: ${found}`);
}

/** Only ASCII letters change, as in MongoDB. */
function foldCase(value: Result, fold: (text: string) => string): string {
  return asText(value).replace(/[A-Za-z]+/g, fold);
}

function upper(value: Result): string {
  return foldCase(value, (each) => each.toUpperCase());
}

function asText(value: Result): string {
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

function substring(value: Result, start: Result, length: Result): string {
  const characters = [...asText(value)];
  const [from, count] = [start, length].map((each, index) => {
    const name = index === 0 ? 'starting index' : 'length';
    if (!isNumber(each)) {
      throw failureAt(
        index === 0 ? 34450 : 34452,
        `$substrCP: ${name} must be a numeric type (is BSON type ${each === undefined ? 'missing' : typeName(each)})`,
      );
    }
    const number = toDouble(each);
    if (!Number.isInteger(number) || Math.abs(number) > 0x7fffffff) {
      throw failureAt(
        index === 0 ? 34451 : 34453,
        `$substrCP: ${name} cannot be represented as a 32-bit integral value`,
      );
    }
    if (number < 0) {
      throw failureAt(index === 0 ? 34455 : 34454, `$substrCP: ${name} must be a nonnegative integer.`);
    }
    return number;
  });
  return characters.slice(from, (from ?? 0) + (count ?? 0)).join('');
}

function split(value: Result, separator: Result): BsonValue {
  if (typeof value !== 'string') {
    throw failureAt(
      40085,
      `$split requires an expression that evaluates to a string as a first argument, found: ${typeName(value as BsonValue)}`,
    );
  }
  if (typeof separator !== 'string') {
    throw failureAt(
      40086,
      `$split requires an expression that evaluates to a string as a second argument, found: ${typeName(separator as BsonValue)}`,
    );
  }
  if (separator === '') throw failureAt(40087, '$split requires a non-empty separator');
  return value.split(separator);
}
