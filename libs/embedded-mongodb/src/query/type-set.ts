import { Decimal128, Double, Int32, Long } from 'bson';
import { toDouble } from '../bson/numbers.js';
import { BsonType, type BsonTypeName, type BsonValue, isNumber, typeName } from '../bson/types.js';
import { badValue, failure, typeMismatch } from '../errors.js';

const numberTypes: BsonTypeName[] = ['int', 'long', 'double', 'decimal'];
const namesByNumber = new Map<number, BsonTypeName>(
  Object.entries(BsonType).map(([name, number]) => [number, name as BsonTypeName]),
);

/**
 * The types that the argument of `$type` refers to.
 *
 * @see https://www.mongodb.com/docs/manual/reference/operator/query/type/
 */
export function parseTypeSet(argument: BsonValue): ReadonlySet<BsonTypeName> {
  const entries = Array.isArray(argument) ? argument : [argument];
  if (entries.length === 0) throw failure('FailedToParse', '$type must match at least one type');
  return new Set(entries.flatMap(parseType));
}

/** Whether a value is of one of the types. */
export function isOfType(value: BsonValue | undefined, types: ReadonlySet<BsonTypeName>): boolean {
  return value !== undefined && types.has(typeName(value));
}

function parseType(entry: BsonValue): BsonTypeName[] {
  if (typeof entry === 'string') {
    if (entry === 'number') return numberTypes;
    if (!(entry in BsonType)) throw badValue(`Unknown type name alias: ${entry}`);
    return [entry as BsonTypeName];
  }
  if (!isNumber(entry)) throw typeMismatch('type must be represented as a number or a string');
  const name = namesByNumber.get(toDouble(entry));
  if (!name) throw badValue(`Invalid numerical type code: ${numberText(entry)}`);
  return [name];
}

function numberText(value: Int32 | Double | Long | Decimal128): string {
  return value instanceof Decimal128 ? value.toString() : String(toDouble(value));
}
