import { mongo } from 'mongoose';

/** The positions of the statements that the server refused, each for itself; undefined if the command failed as a whole. */
export function refusedBy(error: unknown): ReadonlySet<number> | undefined {
  if (!(error instanceof mongo.MongoBulkWriteError)) return undefined;
  const refused = [error.writeErrors].flat().map(({ index }) => index);
  return refused.length === 0 || error.result.getWriteConcernError() ? undefined : new Set(refused);
}

/** The driver wraps what befell the command of several statements into an error that keeps its text alone. */
export function causeOf(error: unknown): unknown {
  const { errorResponse } = error as { errorResponse?: unknown };
  return errorResponse instanceof Error ? errorResponse : error;
}
