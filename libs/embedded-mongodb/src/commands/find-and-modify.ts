import { decodeDocument } from '../bson/decode.js';
import { encodeDocument } from '../bson/encode.js';
import { failure } from '../errors.js';
import type { QueryRequest } from '../planner/query.js';
import { compileProjection } from '../query/projection.js';
import { compileUpdate } from '../update/update.js';
import { RawDocument, type Reply, replyOf, type ReplyValue } from '../wire/reply.js';
import type { Command, Engine } from './context.js';
import { hintOf } from './find.js';
import { changeOne } from './modify.js';

/** The query of a `findAndModify` command. */
export function findAndModifyRequest(command: Command): QueryRequest {
  return {
    filter: command.document('query') ?? new Map(),
    sort: command.document('sort'),
    hint: hintOf(command),
  };
}

/** @see https://www.mongodb.com/docs/manual/reference/command/findAndModify/ */
export async function findAndModify(command: Command, engine: Engine): Promise<Reply> {
  command.refuse('bypassDocumentValidation');
  command.refuseCollation();
  const removes = command.looseFlag('remove');
  const update = command.body.get('update') ?? undefined;
  const returnsNew = command.looseFlag('new');
  const upsert = command.looseFlag('upsert');
  if (removes && update !== undefined) {
    throw failure('FailedToParse', "Cannot specify both an 'update' and 'remove'=true");
  }
  if (removes && upsert)
    throw failure('FailedToParse', "Cannot specify both 'upsert'=true and 'remove'=true");
  if (removes && returnsNew) {
    throw failure(
      'FailedToParse',
      "Cannot specify both 'new'=true and 'remove'=true; 'remove' always returns the deleted document",
    );
  }
  if (!removes && update === undefined) {
    throw failure('FailedToParse', "Either an 'update' or 'remove'=true must be specified");
  }
  const request = findAndModifyRequest(command);
  const change =
    update === undefined
      ? undefined
      : compileUpdate(update, {
          now: new Date(),
          arrayFilters: command.body.get('arrayFilters'),
        });
  const fields = command.document('fields');
  const projection = fields && fields.size > 0 ? compileProjection(fields) : undefined;
  const done = await changeOne(engine, command.namespace, request, change, upsert);
  const shown = returnsNew ? done?.after : done?.before;
  const value: ReplyValue = !shown
    ? null
    : projection
      ? new RawDocument(encodeDocument(projection.apply(decodeDocument(shown))))
      : new RawDocument(shown);
  const lastErrorObject = {
    n: done ? 1 : 0,
    updatedExisting: removes ? undefined : done !== undefined && done.upserted === undefined,
    upserted: done?.upserted,
  };
  return replyOf({ lastErrorObject, value });
}
