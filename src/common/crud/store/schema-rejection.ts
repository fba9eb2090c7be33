import { mongo, Error as MongooseErrors, type Schema, type SchemaType } from 'mongoose';
import {
  BodyTooLargeError,
  type DomainError,
  errorMessages,
  toPointer,
  ValidationError,
  type Violation,
} from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';

/** Maximum size of a document. Unit: bytes. https://www.mongodb.com/docs/manual/reference/limits/ */
const MAX_DOCUMENT = 16_777_216;

/** The server's error codes for a document that is larger: inserted, or after an update. */
const TOO_LARGE = [10_334, 17_419, 17_420];

/** The code of a server that cannot index a place (https://www.mongodb.com/docs/manual/reference/error-codes/). */
const REJECTED_PLACE = 16_755;

/** The codes for other values that an index, or the validator of a collection, rejects. */
const REJECTED_VALUES = [13_027, 16_804, 16_766, 17_261, 17_262, 171, 121];

/** Turns a rejection of values by the schema or the server into an error that names the fields, but no model. */
export function schemaRejection(error: unknown, schema: Schema): DomainError | undefined {
  if (error instanceof mongo.MongoServerError && TOO_LARGE.includes(Number(error.code))) {
    return new BodyTooLargeError(MAX_DOCUMENT, errorMessages.recordTooLarge, { cause: error });
  }
  const [first, ...others] = violationsOf(error, schema);
  return first ? new ValidationError([first, ...others], { cause: error }) : undefined;
}

function violationsOf(error: unknown, schema: Schema): Violation[] {
  if (error instanceof MongooseErrors.ValidationError) {
    return Object.entries(error.errors)
      .filter(([, error]) => !(error instanceof MongooseErrors.ValidationError))
      .map(([path, error]) => violation(path, detailOf(path, error)));
  }
  if (error instanceof MongooseErrors.CastError) {
    // In an update, Mongoose does not name a single entry of a map, but all of them.
    const [path = '', entry] = error.path.split('.$*', 2);
    return entry === undefined
      ? [violation(path, detailOf(path, error))]
      : [violation(path, errorMessages.wrongEntry(path, typeName(error.kind)))];
  }
  if (error instanceof MongooseErrors.StrictModeError) {
    // For an immutable field, Mongoose gives the path only in its message.
    const immutable = /^Field (.+) is immutable/.exec(error.message)?.[1];
    if (immutable !== undefined) return [violation(immutable, errorMessages.immutable(immutable))];
    return [violation(error.path, errorMessages.undeclaredField(error.path))];
  }
  const code = error instanceof mongo.MongoServerError ? Number(error.code) : undefined;
  if (code === REJECTED_PLACE) return [rejectedPlace(schema)];
  return REJECTED_VALUES.includes(code ?? 0) ? [REJECTED] : [];
}

/** The server's text quotes the whole record. */
const REJECTED: Violation = { pointer: '', detail: errorMessages.rejectedValues };

function rejectedPlace(schema: Schema): Violation {
  const paths = schema.indexes().flatMap(([keys]) => Object.entries(keys));
  const [only, ...more] = paths.filter(([, type]) => type === '2dsphere').map(([path]) => path);
  return only === undefined || more.length > 0 ? REJECTED : violation(only, errorMessages.wrongPlace(only));
}

function violation(path: string, detail: string): Violation {
  return { pointer: toPointer(path.split('.')), detail };
}

/** Messages for Mongoose's own validators; your own validators have their own messages. */
function detailOf(path: string, error: MongooseErrors.ValidatorError | MongooseErrors.CastError): string {
  if (error instanceof MongooseErrors.CastError) return errorMessages.wrongType(path, typeName(error.kind));
  const { kind } = error;
  const limits = error.properties as unknown as Record<string, unknown>;
  switch (kind) {
    case 'required':
      return errorMessages.requiredField(path);
    case 'minlength':
    case 'maxlength':
    case 'min':
    case 'max':
      return errorMessages.outOfBounds(path, kind, limits[kind]);
    case 'enum':
      return errorMessages.notOneOf(path, (limits.enumValues ?? []) as readonly unknown[]);
    case 'regexp':
      return errorMessages.wrongFormat(path);
    default:
      return error.message;
  }
}

/** Name of a schema type for people. */
function typeName(kind: string): string {
  const names: Record<string, string> = {
    number: 'a number',
    string: 'a string',
    boolean: 'true or false',
    date: 'a timestamp',
    objectid: 'an identifier of 24 hexadecimal digits',
    decimal128: 'a decimal number',
    array: 'a list',
    embedded: 'an object',
    map: 'an object',
  };
  return names[kind.toLowerCase()] ?? `a value of the type ${kind}`;
}

/** @throws ValidationError if values, by dotted path, have names that Mongoose's maps cannot have; its errors name no field */
export function checkMapNames(schema: Schema, values: object): void {
  const [first, ...others] = mapViolationsOf(schema, values, []);
  if (first) throw new ValidationError([first, ...others]);
}

function mapViolationsOf(schema: Schema, values: object, parents: readonly string[]): Violation[] {
  return Object.entries(values).flatMap(([path, value]: [string, unknown]): Violation[] => {
    const type = schema.path(path) as (SchemaType & { schema?: Schema }) | undefined;
    const at = [...parents, ...path.split('.')];
    if (type?.instance === 'Map')
      return wrongNamesIn(value).map((name) => ({
        pointer: toPointer([...at, name]),
        detail: errorMessages.wrongMapName(at.join('.'), name),
      }));
    const { schema: inner } = type ?? {};
    if (!inner) return [];
    if (!Array.isArray(value)) return isPlainObject(value) ? mapViolationsOf(inner, value, at) : [];
    return value.flatMap((entry: unknown, i) =>
      isPlainObject(entry) ? mapViolationsOf(inner, entry, [...at, String(i)]) : [],
    );
  });
}

function wrongNamesIn(map: unknown): string[] {
  const members = map instanceof Map ? (Object.fromEntries(map) as object) : map;
  const names = isPlainObject(members) ? Object.keys(members) : [];
  return names.filter((name) => name.includes('.') || name.startsWith('$'));
}
