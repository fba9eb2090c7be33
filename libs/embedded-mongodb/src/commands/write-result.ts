import { Int32 } from 'bson';
import { type BsonValue, toBsonValue } from '../bson/types.js';
import { CommandError } from '../errors.js';
import type { Reply, ReplyValue } from '../wire/reply.js';

/** One statement of a batch that failed, as the reply lists it. */
export function writeError(index: number, error: unknown): BsonValue {
  if (!(error instanceof CommandError)) throw error;
  const extra = Object.entries(error.extra ?? {}).map(([name, value]): [string, BsonValue] => [
    name,
    toBsonValue(value),
  ]);
  return new Map<string, BsonValue>([
    ['index', new Int32(index)],
    ['code', new Int32(error.code)],
    ...extra,
    ['errmsg', error.message],
  ]);
}

/** The reply of a batch: its figures, and its failures where there are any. */
export function batchReply(figures: Record<string, ReplyValue>, errors: readonly BsonValue[]): Reply {
  return new Map<string, ReplyValue>([
    ...Object.entries(figures),
    ...(errors.length > 0 ? ([['writeErrors', [...errors]]] as [string, ReplyValue][]) : []),
  ]);
}
