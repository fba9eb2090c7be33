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

/**
 * Codes of a server that cannot index the values of a record, by the type of the index; undefined where any
 * field may be the cause (https://www.mongodb.com/docs/manual/reference/error-codes/).
 */
const REJECTED_VALUES: ReadonlyMap<unknown, '2dsphere' | '2d' | 'hashed' | 'text' | undefined> = new Map([
  [16_755, '2dsphere'],
  [13_027, '2d'],
  [16_804, '2d'],
  [16_766, 'hashed'],
  [17_261, 'text'],
  [17_262, 'text'],
  // Several lists in one index, and the validator of a collection.
  [171, undefined],
  [121, undefined],
] as const);

/**
 * Turns a rejection by the schema or by the server, beyond the checks of the input class, or of a record that is
 * too large, into an error that names the fields but neither model nor collection; undefined if the error is
 * another one.
 */
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
  if (error instanceof mongo.MongoServerError && REJECTED_VALUES.has(error.code))
    return [rejectedValue(error, schema)];
  return [];
}

/** The server's text quotes the whole record. */
function rejectedValue({ code }: mongo.MongoServerError, schema: Schema): Violation {
  const type = REJECTED_VALUES.get(code);
  const fields = schema
    .indexes()
    .flatMap(([keys]) => Object.keys(keys).filter((path) => keys[path] === type));
  const [only, ...more] = type === undefined ? [] : fields;
  if (only === undefined || more.length > 0) return { pointer: '', detail: errorMessages.rejectedValues };
  return violation(only, errorMessages.rejectedValue(only, type));
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
    Number: 'a number',
    number: 'a number',
    String: 'a string',
    string: 'a string',
    Boolean: 'true or false',
    boolean: 'true or false',
    date: 'a timestamp',
    Date: 'a timestamp',
    ObjectId: 'an identifier of 24 hexadecimal digits',
    Decimal128: 'a decimal number',
    Array: 'a list',
    Embedded: 'an object',
    Map: 'an object',
  };
  return names[kind] ?? `a value of the type ${kind}`;
}

/**
 * Rejects names that Mongoose's maps cannot have. Otherwise a create would fail with "the map is not an
 * object", and an update with an error that names no field.
 *
 * @param values by dotted path
 * @throws ValidationError
 */
export function checkMapNames(schema: Schema, values: object): void {
  const [first, ...others] = mapViolationsOf(schema, values, []);
  if (first) throw new ValidationError([first, ...others]);
}

function mapViolationsOf(schema: Schema, values: object, parents: readonly string[]): Violation[] {
  return Object.entries(values).flatMap(([path, value]: [string, unknown]): Violation[] => {
    const type = schema.path(path) as (SchemaType & { schema?: Schema }) | undefined;
    const at = [...parents, ...path.split('.')];
    if (type?.instance === 'Map') return keysOf(value).filter(isWrongKey).map(violationAt(at));
    const { schema: inner } = type ?? {};
    if (!inner) return [];
    if (!Array.isArray(value)) return isPlainObject(value) ? mapViolationsOf(inner, value, at) : [];
    return value.flatMap((entry: unknown, i) =>
      isPlainObject(entry) ? mapViolationsOf(inner, entry, [...at, String(i)]) : [],
    );
  });
}

function keysOf(map: unknown): string[] {
  if (map instanceof Map) return [...(map as Map<string, unknown>).keys()];
  return isPlainObject(map) ? Object.keys(map) : [];
}

function isWrongKey(name: string): boolean {
  return name.includes('.') || name.startsWith('$');
}

function violationAt(at: readonly string[]): (name: string) => Violation {
  return (name) => ({
    pointer: toPointer([...at, name]),
    detail: errorMessages.wrongMapName(at.join('.'), name),
  });
}
