import { mongo } from 'mongoose';

/**
 * The positions of the statements that the server refused individually; undefined if the command failed as a
 * whole.
 */
export function refusedBy(error: unknown): ReadonlySet<number> | undefined {
  if (!(error instanceof mongo.MongoBulkWriteError)) return undefined;
  const refused = [error.writeErrors].flat().map(({ index }) => index);
  return refused.length === 0 || error.result.getWriteConcernError() ? undefined : new Set(refused);
}

/** The driver wraps the error of a command with several statements in one that keeps only its text. */
export function causeOf(error: unknown): unknown {
  const { errorResponse } = error as { errorResponse?: unknown };
  return errorResponse instanceof Error ? errorResponse : error;
}
