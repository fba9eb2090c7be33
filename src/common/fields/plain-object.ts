import { Types } from 'mongoose';

/** Whether a value is an object with members: no array, no date, no value of BSON. */
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
  // A body's own "_bsontype" is a field like any other: only values that code made have one from their class.
  return (
    value instanceof Types.ObjectId ||
    value instanceof Types.Decimal128 ||
    ('_bsontype' in value && !Object.hasOwn(value, '_bsontype'))
  );
}
