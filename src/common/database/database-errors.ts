import { mongo } from 'mongoose';
import {
  DatabaseTooSlowError,
  DatabaseUnavailableError,
  DomainError,
  DuplicateValueError,
  PASSING_CODES,
  WriteConflictError,
} from '../errors/index.js';

export const DUPLICATE_KEY = 11_000;
const MAX_TIME_EXPIRED = 50;
const ILLEGAL_OPERATION = 20;
const WRITE_CONFLICT = 112;

/** Node's error codes for a lost connection (https://nodejs.org/api/errors.html#common-system-errors). */
const SOCKET_CODES = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/** An operation did not end before its deadline. */
export class DeadlineError extends Error {}

/** Whether an operation ended because of its duration, which may be the network's fault as well as its own. */
export function isTimeout(error: unknown): boolean {
  return error instanceof DeadlineError || error instanceof mongo.MongoNetworkTimeoutError;
}

/** The driver wraps the error of a command with several writes in one that keeps only its text. */
export function unwrapped(error: unknown): unknown {
  const { errorResponse } = error as { errorResponse?: unknown };
  return errorResponse instanceof Error ? errorResponse : error;
}

/** Translates a driver error into one that a client may see; returns any other error unchanged. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof mongo.MongoServerError) {
    const fields = Object.keys((error.keyPattern as object | undefined) ?? {});
    if (error.code === DUPLICATE_KEY) return new DuplicateValueError(fields, { cause: error });
    if (error.code === ILLEGAL_OPERATION && error.message.startsWith('Transaction numbers'))
      return new DomainError('TRANSACTIONS_UNAVAILABLE', undefined, { cause: error });
    if (error.code === WRITE_CONFLICT) return new WriteConflictError({ cause: error });
    if (error.code === MAX_TIME_EXPIRED) return new DatabaseTooSlowError({ cause: error });
    return PASSING_CODES.has(Number(error.code)) ? new DatabaseUnavailableError({ cause: error }) : error;
  }
  return isConnectionError(error) ? new DatabaseUnavailableError({ cause: error }) : error;
}

function isConnectionError(error: unknown): boolean {
  return (
    error instanceof DeadlineError ||
    error instanceof mongo.MongoNetworkError ||
    error instanceof mongo.MongoServerSelectionError ||
    error instanceof mongo.MongoNotConnectedError ||
    error instanceof mongo.MongoTopologyClosedError ||
    error instanceof mongo.MongoClientClosedError ||
    (error instanceof mongo.MongoError && error.name === 'MongoWaitQueueTimeoutError') ||
    isSocketError(error)
  );
}

/** If the server has just closed the connection, the driver passes Node's own error on. */
function isSocketError(error: unknown): boolean {
  return SOCKET_CODES.has(String((error as { code?: unknown } | null | undefined)?.code));
}
