import { mongo, type SchemaType, Types } from 'mongoose';

/** The types that JSON has, too, by the name of the Mongoose type. */
const OF_JSON: Readonly<Partial<Record<string, string>>> = {
  String: 'string',
  Number: 'number',
  Double: 'number',
  Int32: 'number',
  Boolean: 'boolean',
};

/** The classes of the types that JSON shows as text. */
const SHOWN_AS_TEXT: Readonly<Partial<Record<string, abstract new (...args: never) => object>>> = {
  Date,
  Decimal128: Types.Decimal128,
  ObjectId: Types.ObjectId,
  UUID: mongo.Binary,
};

/** 1.5 and 1.50 are equal to the database. */
const SHORTEST_DECIMAL = /^(?!-0$)-?\d+(?:\.\d*[1-9])?$/;

/** A value in the type of a field; undefined if it has another type, however it could be converted. */
export function ofType(type: SchemaType, value: unknown): unknown {
  const { instance } = type;
  // Beyond these limits, different numbers of a token are one number by now.
  if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return undefined;
  if (typeof value === OF_JSON[instance]) return cast(type, value);
  // A tenant is an ObjectId, and a field may hold identifiers as texts.
  if (instance in OF_JSON)
    return instance === 'String' && value instanceof Types.ObjectId ? value.toHexString() : undefined;
  const known = SHOWN_AS_TEXT[instance];
  if (!known && instance !== 'BigInt') return cast(type, value);
  if (typeof value === 'string') return ofText(type, value);
  const isOne = known ? value instanceof known : typeof value === 'bigint';
  return isOne ? cast(type, value) : undefined;
}

/** The value of a field that a text in a path spells; undefined if there is none. */
export function ofPath(type: SchemaType, text: string): unknown {
  // A path may have an identifier in either case.
  return ofText(type, type.instance === 'ObjectId' ? text.toLowerCase() : text);
}

/** The value of a field that a text spells as the service does; undefined if there is none. */
function ofText(type: SchemaType, text: string): unknown {
  const found = cast(type, text);
  if (found === undefined || found === null) return undefined;
  if (type.instance === 'Decimal128' && !SHORTEST_DECIMAL.test(text)) return undefined;
  return (found instanceof Date ? found.toISOString() : String(found)) === text ? found : undefined;
}

function cast(type: SchemaType, value: unknown): unknown {
  try {
    return type.cast(value) as unknown;
  } catch {
    return undefined;
  }
}
