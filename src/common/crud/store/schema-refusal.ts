import { Error as MongooseErrors } from 'mongoose';
import { errorMessages, toPointer, ValidationError, type Violation } from '../../errors/index.js';

/**
 * Turns a rejection by the schema, beyond the checks of the input class, into an error that names the fields
 * but neither model nor collection; undefined if the error is another one.
 */
export function schemaRefusal(error: unknown): ValidationError | undefined {
  const [first, ...others] = violationsOf(error);
  return first ? new ValidationError([first, ...others], { cause: error }) : undefined;
}

function violationsOf(error: unknown): Violation[] {
  if (error instanceof MongooseErrors.ValidationError) {
    return Object.entries(error.errors)
      .filter(([, fault]) => !(fault instanceof MongooseErrors.ValidationError))
      .map(([path, fault]) => violation(path, detailOf(path, fault)));
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
  return [];
}

function violation(path: string, detail: string): Violation {
  return { pointer: toPointer(path.split('.')), detail };
}

/** Sentences for Mongoose's own validators; your own validators have their own messages. */
function detailOf(path: string, fault: MongooseErrors.ValidatorError | MongooseErrors.CastError): string {
  if (fault instanceof MongooseErrors.CastError) return errorMessages.wrongType(path, typeName(fault.kind));
  const { kind } = fault;
  const limits = fault.properties as unknown as Record<string, unknown>;
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
      return errorMessages.wrongForm(path);
    default:
      return fault.message;
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
