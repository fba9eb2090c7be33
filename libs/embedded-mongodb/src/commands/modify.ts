import { ObjectId } from 'bson';
import { decodeDocument, decodeField } from '../bson/decode.js';
import { encodeDocument } from '../bson/encode.js';
import type { BsonDocument, BsonValue } from '../bson/types.js';
import { CommandError } from '../errors.js';
import { Query, type QueryRequest } from '../planner/query.js';
import type { Collection, StoredDocument } from '../catalog/collection.js';
import { asBuffer } from '../bson/raw.js';
import { storedLevels } from '../bson/validate.js';
import { upsertDocument } from '../update/upsert.js';
import type { Update } from '../update/update.js';
import { collectionFor, type Engine } from './context.js';
import { checkSize } from './insert.js';
import type { Pauses } from './pauses.js';

/** Number of documents to change in one turn of the writer. */
const chunk = 200;

/** The result of changing one document. */
export interface ChangeResult {
  before?: Buffer;
  after?: Buffer;
  /** Set if an upsert inserted the document. */
  upserted?: BsonValue;
  /** Whether the update did not change the document. */
  unchanged?: boolean;
}

/**
 * Finds the first match and changes it in one transaction: nobody sees or changes it in between.
 *
 * @param change Returns the new document for a match; undefined removes it.
 */
export function changeOne(
  engine: Engine,
  namespace: string,
  request: QueryRequest,
  change: Update | undefined,
  upsert: boolean,
): Promise<ChangeResult | undefined> {
  return engine.store.write(() => {
    const collection = upsert ? collectionFor(engine, namespace) : engine.catalog.find(namespace);
    const query = new Query(engine.store, collection, { ...request, limit: 1 });
    const match = first(query);
    if (match && collection) return apply(collection, match, change);
    if (!upsert || !collection || !change) return undefined;
    const document = upsertDocument(request.filter, change, () => new ObjectId());
    const after = encoded(document);
    collection.insert(after);
    return { after, upserted: document.get('_id') as BsonValue };
  });
}

function first(query: Query): StoredDocument | undefined {
  for (const match of query.matches()) if (match) return match;
  return undefined;
}

/** The result of changing many documents. */
export interface Tally {
  matched: number;
  modified: number;
}

/**
 * Changes every document that matches, once. They are found first and then changed in turns, so that other
 * writers get theirs. Each is checked again before it is changed, since it may have changed in between.
 */
export async function changeMany(
  engine: Engine,
  namespace: string,
  request: QueryRequest,
  change: Update | undefined,
  pauses: Pauses,
): Promise<Tally> {
  const tally: Tally = { matched: 0, modified: 0 };
  const collection = engine.catalog.find(namespace);
  if (!collection) return tally;
  const query = new Query(engine.store, collection, request);
  const records = await recordsOf(query, collection, pauses);
  records.reverse();
  while (records.length > 0) {
    const failed = await engine.store.write(() =>
      changeSome(engine, collection, query, records, change, tally),
    );
    if (failed) throw failed;
  }
  return tally;
}

/**
 * The records of all matches, each once. A document that others change during the search may move within the
 * index that is walked, so that the walk meets it twice or not at all: it is added whether or not it was met.
 */
async function recordsOf(query: Query, collection: Collection, pauses: Pauses): Promise<number[]> {
  const records: number[] = [];
  const changed = collection.watch();
  try {
    for (const match of query.matches()) {
      if (match && !changed.has(match.record)) records.push(match.record);
      await pauses.breathe(query.scan);
    }
  } finally {
    collection.unwatch(changed);
  }
  for (const record of records) changed.delete(record);
  for (const record of changed) records.push(record);
  return records;
}

/**
 * Takes records from the end of a list and changes them. A failure is returned, not thrown: earlier changes
 * are kept.
 */
function changeSome(
  { store }: Engine,
  collection: Collection,
  query: Query,
  records: number[],
  change: Update | undefined,
  tally: Tally,
): CommandError | undefined {
  query.scan.checkAlive();
  for (let turn = 0; turn < chunk && store.hasRoom; turn++) {
    const record = records.pop();
    if (record === undefined) return undefined;
    const bytes = collection.get(record);
    if (!bytes || !query.filter.matches(decodeDocument(bytes))) continue;
    try {
      const { unchanged } = apply(collection, { record, bytes }, change);
      tally.matched++;
      if (!unchanged) tally.modified++;
    } catch (error) {
      if (error instanceof CommandError) return error;
      throw error;
    }
  }
  return undefined;
}

function apply(
  collection: Collection,
  { record, bytes }: StoredDocument,
  change: Update | undefined,
): ChangeResult {
  if (!change) {
    collection.remove({ record, bytes });
    return { before: bytes };
  }
  const { document, changed } = change.apply(decodeDocument(bytes));
  if (!changed) return { before: bytes, after: bytes, unchanged: true };
  const after = encoded(document);
  collection.replace({ record, bytes }, after);
  return { before: bytes, after };
}

/** The bytes of a document that is about to be stored. */
function encoded(document: BsonDocument): Buffer {
  const bytes = asBuffer(encodeDocument(document, storedLevels));
  checkSize(bytes.length);
  return bytes;
}

/** The `_id` of a stored document. */
export function idOf(bytes: Buffer): BsonValue {
  return decodeField(bytes, '_id') as BsonValue;
}
