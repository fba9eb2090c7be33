import { readDocument } from '../bson/validate.js';
import { describe } from '../bson/describe.js';
import { toDouble } from '../bson/numbers.js';
import {
  type BsonDocument,
  type BsonNumber,
  type BsonValue,
  isDocument,
  isNumber,
  typeName,
} from '../bson/types.js';
import { failure, missingField, typeMismatch, unknownField, unsupported } from '../errors.js';
import { compileUpdate, type Update } from '../update/update.js';
import type { Reply } from '../wire/reply.js';
import { type Command, type Engine, isSimple } from './context.js';
import { hintOf } from './find.js';
import { checkBatch } from './insert.js';
import { changeMany, changeOne } from './modify.js';
import { batchReply, writeError } from './write-result.js';

/** The fields of a statement: the required ones, the booleans, and all others. */
const shapes = {
  updates: {
    required: ['q', 'u'],
    flags: ['multi', 'upsert', 'upsertSupplied'],
    others: ['c', 'collation', 'arrayFilters', 'hint', 'sampleId'],
  },
  deletes: { required: ['q', 'limit'], flags: [], others: ['collation', 'hint', 'sampleId'] },
};

/** One statement of an `update` command. */
export interface UpdateStatement {
  filter: BsonDocument;
  change: Update;
  multi: boolean;
  upsert: boolean;
  hint?: BsonValue;
}

/**
 * The statements of a batch, from the command's body or from a sequence of the message.
 *
 * @throws CommandError 9, 14, 40414 or 40415 if one does not have the shape of a statement; the whole batch
 * is then rejected.
 */
export function statementsOf(command: Command, field: 'updates' | 'deletes'): readonly BsonDocument[] {
  const given = command.sequences.get(field)?.map(readDocument) ?? command.documents(field);
  const path = `${command.name}.${field}`;
  const statements = checkBatch(given, path);
  for (const statement of statements) checkShape(statement, path, shapes[field]);
  return statements;
}

/** @throws CommandError if the statement is invalid, or needs features that this server lacks */
export function readUpdate(statement: BsonDocument): UpdateStatement {
  refuseCollation(statement);
  const multi = statement.get('multi') === true;
  const upsert = statement.get('upsert') === true;
  const update = statement.get('u') ?? null;
  if (statement.has('c')) throw unsupported('The constants of an update');
  const change = compileUpdate(update, {
    now: new Date(),
    arrayFilters: statement.get('arrayFilters'),
  });
  if (multi && change.replacement) {
    throw failure('FailedToParse', 'multi update is not supported for replacement-style update');
  }
  return {
    filter: statement.get('q') as BsonDocument,
    change,
    multi,
    upsert,
    hint: hintOf({ body: statement }),
  };
}

/** @see https://www.mongodb.com/docs/manual/reference/command/update/ */
export async function update(command: Command, engine: Engine): Promise<Reply> {
  command.refuse('bypassDocumentValidation');
  const { namespace } = command;
  const errors: BsonValue[] = [];
  const upserted: { index: number; _id: BsonValue }[] = [];
  let matched = 0;
  let modified = 0;
  for (const [index, statement] of statementsOf(command, 'updates').entries()) {
    try {
      const { change, multi, upsert, ...request } = readUpdate(statement);
      const tally = multi
        ? await changeMany(engine, namespace, request, change, command.pauses)
        : { matched: 0, modified: 0 };
      if (!multi || (upsert && tally.matched === 0)) {
        const done = await changeOne(engine, namespace, request, change, upsert);
        if (done) tally.matched = 1;
        if (done?.upserted !== undefined) {
          upserted.push({ index, _id: done.upserted });
        } else if (done && !done.unchanged) tally.modified = 1;
      }
      matched += tally.matched;
      modified += tally.modified;
    } catch (error) {
      errors.push(writeError(index, error));
      if (command.flag('ordered', true)) break;
    }
  }
  const figures = { n: matched, nModified: modified };
  return batchReply(upserted.length > 0 ? { ...figures, upserted } : figures, errors);
}

/** One statement of a `delete` command. */
export interface DeleteStatement {
  filter: BsonDocument;
  /** Whether to remove every match, or only the first. */
  all: boolean;
  hint?: BsonValue;
}

/** @throws CommandError if the statement needs features that this server lacks */
export function readDelete(statement: BsonDocument): DeleteStatement {
  refuseCollation(statement);
  const all = toDouble(statement.get('limit') as BsonNumber) === 0;
  return { filter: statement.get('q') as BsonDocument, all, hint: hintOf({ body: statement }) };
}

/** @see https://www.mongodb.com/docs/manual/reference/command/delete/ */
export async function del(command: Command, engine: Engine): Promise<Reply> {
  const { namespace } = command;
  const errors: BsonValue[] = [];
  let removed = 0;
  for (const [index, statement] of statementsOf(command, 'deletes').entries()) {
    try {
      const { all, ...request } = readDelete(statement);
      if (all) {
        removed += (await changeMany(engine, namespace, request, undefined, command.pauses)).matched;
      } else if (await changeOne(engine, namespace, request, undefined, false)) {
        removed++;
      }
    } catch (error) {
      errors.push(writeError(index, error));
      if (command.flag('ordered', true)) break;
    }
  }
  return batchReply({ n: removed }, errors);
}

function checkShape(
  statement: BsonDocument,
  path: string,
  { required, flags, others }: (typeof shapes)[keyof typeof shapes],
): void {
  const known = [...required, ...flags, ...others];
  const stray = [...statement.keys()].find((field) => !known.includes(field));
  if (stray !== undefined) throw unknownField(`${path}.${stray}`);
  const missing = required.find((field) => (statement.get(field) ?? null) === null);
  if (missing !== undefined) throw missingField(`${path}.${missing}`);
  checkType(statement, path, 'q', 'object', isDocument);
  for (const field of flags) checkType(statement, path, field, 'bool', (value) => typeof value === 'boolean');
  checkType(statement, path, 'limit', 'number', isNumber);
  const limit = statement.get('limit');
  if (isNumber(limit) && ![0, 1].includes(toDouble(limit))) {
    throw failure(
      'FailedToParse',
      `The limit field in delete objects must be 0 or 1. Got ${describe(limit)}`,
    );
  }
}

function checkType(
  statement: BsonDocument,
  path: string,
  field: string,
  expected: string,
  fits: (value: BsonValue) => boolean,
): void {
  const value = statement.get(field) ?? null;
  if (value === null || fits(value)) return;
  throw typeMismatch(
    `BSON field '${path}.${field}' is the wrong type '${typeName(value)}', expected type '${expected}'`,
  );
}

function refuseCollation(statement: BsonDocument): void {
  const collation = statement.get('collation');
  if (isDocument(collation) && !isSimple(collation)) throw unsupported('The option collation');
}
