/**
 * MongoDB's error codes that this server answers with, by name.
 *
 * @see https://www.mongodb.com/docs/manual/reference/error-codes/
 */
export const errorCodes = {
  InternalError: 1,
  BadValue: 2,
  FailedToParse: 9,
  TypeMismatch: 14,
  Overflow: 15,
  IllegalOperation: 20,
  InvalidBSON: 22,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  PathNotViable: 28,
  ConflictingUpdateOperators: 40,
  CursorNotFound: 43,
  NamespaceExists: 48,
  MaxTimeMSExpired: 50,
  DollarPrefixedFieldName: 52,
  InvalidIdField: 53,
  NotSingleValueField: 54,
  EmptyFieldName: 56,
  CommandNotFound: 59,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  InvalidOptions: 72,
  InvalidNamespace: 73,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  NotExactValueField: 111,
  CommandNotSupported: 115,
  NotAReplicaSet: 123,
  CannotIndexParallelArrays: 171,
  QueryPlanKilled: 175,
  QueryFeatureNotAllowed: 224,
  IndexBuildAborted: 276,
  BSONObjectTooLarge: 10334,
  DuplicateKey: 11000,
  InterruptedAtShutdown: 11600,
  OutOfDiskSpace: 14031,
} as const;

/** A name of {@link errorCodes}. */
export type ErrorName = keyof typeof errorCodes;

/** A command's failure, answered to the client as `{ ok: 0, errmsg, code, codeName }`. */
export class CommandError extends Error {
  /**
   * @param code MongoDB's number of the error.
   * @param codeName MongoDB's name of the error; codes without one are called `Location<code>`.
   * @param message What is wrong, in MongoDB's words where a client may read them.
   * @param extra Further fields of the reply, such as `keyPattern` and `keyValue` of a duplicate key.
   */
  constructor(
    readonly code: number,
    readonly codeName: string,
    message: string,
    readonly extra?: Record<string, unknown>,
  ) {
    super(message);
    this.name = 'CommandError';
  }
}

/** An error that MongoDB has a name for. */
export function failure(name: ErrorName, message: string, extra?: Record<string, unknown>): CommandError {
  return new CommandError(errorCodes[name], name, message, extra);
}

/** A value that cannot be used where it stands. */
export function badValue(message: string): CommandError {
  return failure('BadValue', message);
}

/** A value of a type that cannot be used where it stands. */
export function typeMismatch(message: string): CommandError {
  return failure('TypeMismatch', message);
}

/** @param path The field, with the command or stage that lacks it: `insert.documents`. */
export function missingField(path: string): CommandError {
  return failureAt(40414, `BSON field '${path}' is missing but a required field`);
}

/** @param path The field, with the command or stage that does not know it: `insert.documnets`. */
export function unknownField(path: string): CommandError {
  return failureAt(40415, `BSON field '${path}' is an unknown field.`);
}

/** An error that MongoDB knows only by number, for example 16410 (a field path with a dollar sign). */
export function failureAt(code: number, message: string): CommandError {
  return new CommandError(code, `Location${code}`, message);
}

/**
 * Something that MongoDB can do and this server cannot.
 *
 * @param what The feature, as the subject of a sentence: `The operator $where`.
 */
export function unsupported(what: string): CommandError {
  return failure(
    'CommandNotSupported',
    `${what} is not supported by the embedded server; connect to a real MongoDB (set MONGODB_URI) to use it.`,
  );
}
