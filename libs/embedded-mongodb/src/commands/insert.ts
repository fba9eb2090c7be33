import { ObjectId } from 'bson';
import { decodeField } from '../bson/decode.js';
import { encodeDocument } from '../bson/encode.js';
import type { BsonValue } from '../bson/types.js';
import { CommandError, failure, missingField } from '../errors.js';
import { asBuffer, findElement, valueEnd } from '../bson/raw.js';
import { storedLevels, validateDocument } from '../bson/validate.js';
import { checkId, checkInnerNames } from '../update/id.js';
import type { Reply } from '../wire/reply.js';
import { type Command, collectionFor, type Engine } from './context.js';
import { batchReply, writeError } from './write-result.js';

/** Maximum size of a document. Unit: bytes. */
export const maxDocumentBytes = 16 * 1024 * 1024;
/** Maximum number of statements in one batch. */
export const maxBatch = 100_000;
/** Number of documents to insert in one turn of the writer. */
const chunk = 500;

/** @see https://www.mongodb.com/docs/manual/reference/command/insert/ */
export async function insert(command: Command, engine: Engine): Promise<Reply> {
  const { namespace } = command;
  const given =
    command.sequences.get('documents') ?? command.documents('documents')?.map((each) => encodeDocument(each));
  const documents = checkBatch(given, 'insert.documents');
  const ordered = command.flag('ordered', true);
  const errors: BsonValue[] = [];
  let inserted = 0;
  for (let next = 0; next < documents.length && !(ordered && errors.length > 0);) {
    await engine.store.write(() => {
      const collection = collectionFor(engine, namespace);
      for (const end = Math.min(next + chunk, documents.length); next < end && engine.store.hasRoom; next++) {
        try {
          collection.insert(prepare(asBuffer(documents[next] as Uint8Array)));
          inserted++;
        } catch (error) {
          errors.push(writeError(next, error));
          if (ordered) return;
        }
      }
    });
  }
  return batchReply({ n: inserted }, errors);
}

/** @throws CommandError InvalidLength (16) if a batch is empty or too large */
export function checkBatch<T>(batch: readonly T[] | undefined, field: string): readonly T[] {
  if (!batch) throw missingField(`${field}`);
  if (batch.length === 0 || batch.length > maxBatch) {
    throw new CommandError(
      16,
      'InvalidLength',
      `Write batch sizes must be between 1 and ${maxBatch}. Got ${batch.length} operations.`,
    );
  }
  return batch;
}

/** Checks a document from outside and puts its `_id` first, adding one if it is missing. */
export function prepare(bytes: Buffer): Buffer {
  validateDocument(bytes, storedLevels);
  checkSize(bytes.length);
  const at = findElement(bytes, 0, idName);
  if (!at)
    return withElement(bytes, encodeDocument(new Map([['_id', new ObjectId()]])).subarray(4, -1), 4, 0);
  const id = decodeField(bytes, '_id') as BsonValue;
  checkId(id);
  checkInnerNames(id);
  const start = at.at - idName.length - 2;
  const end = valueEnd(bytes, at.type, at.at);
  return start === 4 ? bytes : withElement(bytes, bytes.subarray(start, end), start, end - start);
}

const idName = Buffer.from('_id');

/** Puts an element first; `cut` bytes at `from` are removed from its old place. */
function withElement(bytes: Buffer, element: Uint8Array, from: number, cut: number): Buffer {
  const result = Buffer.concat([
    bytes.subarray(0, 4),
    element,
    bytes.subarray(4, from),
    bytes.subarray(from + cut),
  ]);
  result.writeInt32LE(result.length);
  return result;
}

/** @throws CommandError BSONObjectTooLarge (10334) */
export function checkSize(length: number): void {
  if (length <= maxDocumentBytes) return;
  throw failure(
    'BSONObjectTooLarge',
    `object to insert too large. size in bytes: ${length}, max size: ${maxDocumentBytes}`,
  );
}
