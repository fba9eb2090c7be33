import { type BsonValue, toBson } from '../bson/types.js';
import { CommandError } from '../errors.js';
import { type Reply, replyOf } from '../wire/reply.js';

/** A failed statement of a batch, as the reply lists it. */
export function writeError(index: number, error: unknown): BsonValue {
  if (!(error instanceof CommandError)) throw error;
  return toBson({ index, code: error.code, ...error.extra, errmsg: error.message });
}

/** The reply to a batch: its figures, and its failures, if any. */
export function batchReply(figures: Record<string, unknown>, errors: readonly BsonValue[]): Reply {
  return replyOf({ ...figures, writeErrors: errors.length > 0 ? errors : undefined });
}
