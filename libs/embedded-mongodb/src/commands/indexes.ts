import { encodeDocument } from '../bson/encode.js';
import { describeDocument } from '../bson/describe.js';
import { valuesEqual } from '../bson/compare.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../bson/types.js';
import { CommandError, badValue, failure, missingField, typeMismatch } from '../errors.js';
import { alreadyExists, type IndexDefinition, isIdKey, parseIndex } from '../index/definition.js';
import type { Index } from '../index/index.js';
import type { Collection } from '../catalog/collection.js';
import { recordOf } from '../storage/layout.js';
import { type Reply, replyOf } from '../wire/reply.js';
import { type Command, collectionFor, type Engine } from './context.js';
import { cursorReply } from './cursors.js';

/** Number of documents to add to a new index in one turn of the writer. */
const chunk = 500;

/**
 * Maximum number of documents that a build defers. Those that are still rejected then end the build, so that
 * one write stays small.
 */
const mostDeferred = 1_000;

/** The indexes that are being built. */
const builds = new WeakMap<Index, Promise<void>>();

/** @see https://www.mongodb.com/docs/manual/reference/command/createIndexes/ */
export async function createIndexes(command: Command, engine: Engine): Promise<Reply> {
  const { namespace } = command;
  const given = command.documents('indexes');
  if (!given || given.length === 0) throw badValue('Must specify at least one index to create');
  const wanted = given.map(parseIndex);
  const existed = engine.catalog.find(namespace) !== undefined;
  const collection = await engine.store.write(() => collectionFor(engine, namespace));
  const before = collection.indexes.length;
  const added: Index[] = [];
  try {
    for (const definition of wanted) {
      const index = await addIndex(engine, collection, definition);
      if (index) added.push(index);
    }
  } catch (error) {
    await engine.store.write(() => added.forEach((index) => engine.catalog.dropIndex(collection, index)));
    throw error;
  }
  return replyOf({
    numIndexesBefore: before,
    numIndexesAfter: collection.indexes.length,
    createdCollectionAutomatically: !existed,
    note: added.length === 0 ? 'all indexes already exist' : undefined,
  });
}

async function addIndex(
  engine: Engine,
  collection: Collection,
  definition: IndexDefinition,
): Promise<Index | undefined> {
  const { store, catalog } = engine;
  const index = await store.write(() => {
    if (collection.dropped) throw aborted(collection);
    const existing = collection.indexes.map((each) => each.definition);
    if (!isIdKey(definition.key) && !alreadyExists(definition, existing)) {
      return catalog.addIndex(collection, definition);
    }
    return collection.index(definition.name);
  });
  if (!index || index.ready) return undefined;
  const others = builds.get(index);
  if (others) {
    // Another command is building it: the outcome shows when that is done.
    await others.catch(() => undefined);
    return addIndex(engine, collection, definition);
  }
  try {
    const build = fill(engine, collection, index);
    builds.set(index, build);
    await build;
    return index;
  } catch (error) {
    builds.delete(index);
    await store.write(() => catalog.dropIndex(collection, index));
    throw error instanceof CommandError ? buildFailure(collection, error) : error;
  }
}

/** Adds the existing documents to a new index, in turns; writes in between keep the index up to date. */
async function fill({ store, catalog }: Engine, collection: Collection, index: Index): Promise<void> {
  const cursor = collection.walkPresent();
  for (let more = true; more;) {
    const records: number[] = [];
    while (records.length < chunk) {
      const entry = cursor.next();
      if (!entry) {
        more = false;
        break;
      }
      records.push(recordOf(entry.key));
    }
    cursor.release();
    for (let next = 0; next < records.length;) {
      await store.write(() => {
        checkWanted(collection, index);
        for (; next < records.length && store.hasRoom; next++)
          add(collection, index, records[next] as number);
      });
    }
    if (index.deferred.size > mostDeferred) {
      await store.write(() => {
        checkWanted(collection, index);
        addDeferred(collection, index);
      });
    }
  }
  await store.write(() => {
    checkWanted(collection, index);
    addDeferred(collection, index);
    catalog.publish(collection, index);
  });
}

function add(collection: Collection, index: Index, record: number): void {
  const bytes = collection.get(record);
  if (!bytes) return;
  index.insert(index.admit(bytes, record, collection.namespace), record);
}

/** Finally adds the deferred documents that still exist; each has no entries yet, or all of them. */
function addDeferred(collection: Collection, index: Index): void {
  const left = [...index.deferred].flatMap((record) => {
    const bytes = collection.get(record);
    return bytes ? [{ record, bytes }] : [];
  });
  // As in MongoDB, documents that cannot have keys are reported before duplicates.
  for (const { record, bytes } of left) index.entries(bytes, record);
  for (const { record, bytes } of left)
    index.insert(index.admitAtOnce(bytes, record, collection.namespace), record);
  index.deferred.clear();
}

/** @throws CommandError IndexBuildAborted (276) if the index or its collection was dropped in the meantime */
function checkWanted(collection: Collection, index: Index): void {
  if (collection.dropped || !collection.indexes.includes(index)) throw aborted(collection);
}

function aborted({ namespace }: Collection): CommandError {
  return failure('IndexBuildAborted', `The index build on ${namespace} was aborted by a drop`);
}

function buildFailure(
  { namespace, uuid }: Collection,
  { code, codeName, message, extra }: CommandError,
): CommandError {
  const id = uuid.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return new CommandError(
    code,
    codeName,
    `Index build failed: ${id}: Collection ${namespace} ( ${id} ) :: caused by :: ${message}`,
    extra,
  );
}

/** @see https://www.mongodb.com/docs/manual/reference/command/listIndexes/ */
export function listIndexes(command: Command, { catalog }: Engine): Reply {
  const { namespace } = command;
  const collection = catalog.find(namespace);
  if (!collection) throw failure('NamespaceNotFound', `ns does not exist: ${namespace}`);
  const listed = collection.indexes
    .filter(({ ready }) => ready)
    .map(({ definition }) => encodeDocument(definition.spec));
  return cursorReply('firstBatch', listed, 0n, namespace);
}

/** @see https://www.mongodb.com/docs/manual/reference/command/dropIndexes/ */
export async function dropIndexes(command: Command, { store, catalog }: Engine): Promise<Reply> {
  const { namespace } = command;
  const wanted = command.body.get('index');
  if (wanted === undefined) {
    throw missingField('dropIndexes.index');
  }
  return store.write(() => {
    const collection = catalog.find(namespace);
    if (!collection) throw failure('NamespaceNotFound', `ns not found ${namespace}`);
    const before = collection.indexes.length;
    for (const index of namedIndexes(collection, wanted)) catalog.dropIndex(collection, index);
    const msg = wanted === '*' ? 'non-_id indexes dropped for collection' : undefined;
    return replyOf({ nIndexesWas: before, msg });
  });
}

function namedIndexes({ indexes }: Collection, wanted: BsonValue): Index[] {
  if (wanted === '*') return indexes.filter(({ name }) => name !== '_id_');
  return [wanted].flat().map((each) => {
    const index = isDocument(each) ? indexOfKey(indexes, each) : indexOfName(indexes, each);
    if (index.name === '_id_') throw failure('InvalidOptions', 'cannot drop _id index');
    return index;
  });
}

function indexOfName(indexes: readonly Index[], wanted: BsonValue): Index {
  if (typeof wanted !== 'string') {
    throw typeMismatch(
      `BSON field 'dropIndexes.index' is the wrong type '${typeName(wanted)}', expected types '[string, object]'`,
    );
  }
  const index = indexes.find(({ name }) => name === wanted);
  if (!index) throw failure('IndexNotFound', `index not found with name [${wanted}]`);
  return index;
}

function indexOfKey(indexes: readonly Index[], key: BsonDocument): Index {
  const [index, ...others] = indexes.filter(({ definition }) => valuesEqual(definition.key, key));
  if (!index) throw failure('IndexNotFound', `can't find index with key: ${describeDocument(key)}`);
  if (others.length > 0) {
    const conflicting = [index, ...others].map(({ definition }) => describeDocument(definition.spec));
    throw new CommandError(
      181,
      'AmbiguousIndexKeyPattern',
      `${conflicting.length} indexes found for key: ${describeDocument(key)}, identify by name instead. Conflicting indexes: ${conflicting.join(', ')}`,
    );
  }
  return index;
}
