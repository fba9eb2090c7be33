import { Types } from 'mongoose';

/** Whether a value is an object with members, rather than an array, a date or a BSON value. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !(value instanceof Map) &&
    !(value instanceof Set) &&
    !ArrayBuffer.isView(value) &&
    !isBsonValue(value)
  );
}

function isBsonValue(value: object): boolean {
  // A body's own "_bsontype" is an ordinary field: only values made by code have one through their class.
  return (
    value instanceof Types.ObjectId ||
    value instanceof Types.Decimal128 ||
    ('_bsontype' in value && !Object.hasOwn(value, '_bsontype'))
  );
}
