import { fieldPath } from '../aggregate/field-path.js';
import { decodeDocument } from '../bson/decode.js';
import { encodeDocument } from '../bson/encode.js';
import { groupKey } from '../aggregate/group-key.js';
import { wholeNumber } from '../bson/numbers.js';
import { describe } from '../bson/describe.js';
import { type BsonNumber, type BsonValue, isDocument, isNumber, toBsonValue } from '../bson/types.js';
import { badValue, failure, failureAt, missingField } from '../errors.js';
import { Query } from '../planner/query.js';
import type { Reply } from '../wire/reply.js';
import type { Command, Engine } from './context.js';
import { hintOf } from './find.js';
import { maxDocumentBytes } from './insert.js';

/** The query of a `count` command. */
export function countQuery(command: Command, { store, catalog }: Engine): Query {
  command.refuseCollation();
  const limit = command.body.get('limit') ?? null;
  if (limit !== null && !isNumber(limit)) throw badValue('limit value is not a valid number');
  return new Query(store, catalog.find(command.namespace), {
    filter: command.document('query') ?? new Map(),
    skip: command.integer('skip'),
    // A negative limit counts as positive.
    limit: limit === null ? 0 : Math.abs(wholeLimit(limit)),
    hint: hintOf(command),
  });
}

function wholeLimit(limit: BsonNumber): number {
  const value = wholeNumber(limit);
  if (value !== undefined) return value;
  throw failure('FailedToParse', `Expected an integer: limit: ${describe(limit)}`);
}

/** @see https://www.mongodb.com/docs/manual/reference/command/count/ */
export async function count(command: Command, engine: Engine): Promise<Reply> {
  return new Map([['n', await counted(command, countQuery(command, engine))]]);
}

/** Runs a query and returns the number of matches. */
export async function counted({ pauses }: Command, query: Query): Promise<BsonValue> {
  let total = 0;
  for (const step of query.count()) {
    if (step === undefined) await pauses.breathe(query.scan);
    else total = step;
  }
  return toBsonValue(total);
}

/** @see https://www.mongodb.com/docs/manual/reference/command/distinct/ */
export async function distinct(command: Command, engine: Engine): Promise<Reply> {
  const query = distinctQuery(command, engine);
  const path = distinctPath(command);
  const values = new Map<string, BsonValue>();
  for (const match of query.matches()) {
    if (match) {
      for (const value of valuesAt(decodeDocument(match.bytes), path)) {
        const key = groupKey(value);
        if (!values.has(key)) values.set(key, value);
      }
    }
    await command.pauses.breathe(query.scan);
  }
  const bytes = [...values.values()].reduce<number>(
    (sum, value) => sum + encodeDocument(new Map([['', value]])).length,
    0,
  );
  if (bytes > maxDocumentBytes) throw failureAt(17217, 'distinct too big, 16mb cap');
  return new Map<string, BsonValue>([['values', [...values.values()]]]) as Reply;
}

/** The query of a `distinct` command. */
export function distinctQuery(command: Command, { store, catalog }: Engine): Query {
  command.refuseCollation();
  return new Query(store, catalog.find(command.namespace), {
    filter: command.document('query') ?? new Map(),
    hint: hintOf(command),
  });
}

function distinctPath(command: Command): string[] {
  const key = command.string('key');
  if (key === undefined) throw missingField('distinct.key');
  if (key.includes('\0')) throw failureAt(31032, 'Key field cannot contain an embedded null byte');
  return fieldPath(key);
}

/** The values at a path, elements of arrays one by one. */
function valuesAt(value: BsonValue | undefined, path: readonly string[]): BsonValue[] {
  const [name, ...rest] = path;
  if (name === undefined) return Array.isArray(value) ? value : value === undefined ? [] : [value];
  if (isDocument(value)) return valuesAt(value.get(name), rest);
  if (!Array.isArray(value)) return [];
  const inside = value.filter(isDocument).flatMap((element) => valuesAt(element, path));
  return /^\d+$/.test(name) ? [...valuesAt(value[Number(name)], rest), ...inside] : inside;
}
