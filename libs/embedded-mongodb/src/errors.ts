/**
 * The MongoDB error codes that this server uses, by name.
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
  ConflictingOperationInProgress: 117,
  NotAReplicaSet: 123,
  CannotIndexParallelArrays: 171,
  QueryPlanKilled: 175,
  QueryFeatureNotAllowed: 224,
  NoSuchTransaction: 251,
  TransactionTooLarge: 257,
  OperationNotSupportedInTransaction: 263,
  IndexBuildAborted: 276,
  BSONObjectTooLarge: 10334,
  DuplicateKey: 11000,
  InterruptedAtShutdown: 11600,
  OutOfDiskSpace: 14031,
} as const;

/** A name of {@link errorCodes}. */
export type ErrorName = keyof typeof errorCodes;

/** A command's failure, sent to the client as `{ ok: 0, errmsg, code, codeName }`. */
export class CommandError extends Error {
  /**
   * @param code MongoDB's number of the error.
   * @param codeName MongoDB's name of the error; codes without one are called `Location<code>`.
   * @param message What is wrong, in MongoDB's words if clients may parse them.
   * @param extra Additional fields of the reply, such as `keyPattern` and `keyValue` for a duplicate key.
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

/** A value that cannot be used in its place. */
export function badValue(message: string): CommandError {
  return failure('BadValue', message);
}

/** A value whose type cannot be used in its place. */
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
 * A feature of MongoDB that this server lacks.
 *
 * @param what The feature, as the subject of a sentence: `The operator $where`.
 */
export function unsupported(what: string): CommandError {
  return failure(
    'CommandNotSupported',
    `${what} is not supported by the embedded server; connect to a real MongoDB (set MONGODB_URI) to use it.`,
  );
}
