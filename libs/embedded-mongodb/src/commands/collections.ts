import { Binary, Double } from 'bson';
import { encodeDocument } from '../bson/encode.js';
import { type BsonDocument, isDocument, toBson } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';
import { compileFilter } from '../query/filter.js';
import type { Collection } from '../catalog/collection.js';
import { type Reply, replyOf } from '../wire/reply.js';
import { type Command, collectionFor, type Engine, isSimple, namespaceOf } from './context.js';
import { cursorReply } from './cursors.js';

/** Options of `create` that have no effect here. */
const harmlessOptions = new Set(['autoIndexId', 'storageEngine', 'indexOptionDefaults']);

/** @see https://www.mongodb.com/docs/manual/reference/command/create/ */
export async function create(command: Command, engine: Engine): Promise<Reply> {
  const { namespace } = command;
  for (const [option, value] of command.body) {
    if (option === 'collation' && isDocument(value) && isSimple(value)) continue;
    const generic = option === 'create' || option.startsWith('$') || genericFields.has(option);
    if (!generic && !harmlessOptions.has(option) && value !== false && value !== null) {
      throw unsupported(`The option ${option} of create`);
    }
  }
  await engine.store.write(() => {
    // All collections have the same options here, so an existing one is the requested one, as in MongoDB.
    collectionFor(engine, namespace);
  });
  return new Map();
}

/** Fields that any command may have. */
export const genericFields = new Set([
  'lsid',
  'writeConcern',
  'readConcern',
  'maxTimeMS',
  'comment',
  'txnNumber',
  'apiVersion',
  'apiStrict',
  'apiDeprecationErrors',
]);

/** @see https://www.mongodb.com/docs/manual/reference/command/drop/ */
export async function drop(command: Command, { store, catalog }: Engine): Promise<Reply> {
  const { namespace } = command;
  return store.write(() => {
    const collection = catalog.find(namespace);
    if (!collection) return new Map();
    const indexes = collection.indexes.length;
    catalog.drop(collection);
    return replyOf({ nIndexesWas: indexes, ns: namespace });
  });
}

/** @see https://www.mongodb.com/docs/manual/reference/command/dropDatabase/ */
export async function dropDatabase({ database }: Command, { store, catalog }: Engine): Promise<Reply> {
  return store.write(() => {
    const collections = catalog.list(database);
    for (const collection of collections) catalog.drop(collection);
    return replyOf({ dropped: collections.length > 0 ? database : undefined });
  });
}

/** @see https://www.mongodb.com/docs/manual/reference/command/renameCollection/ */
export async function renameCollection(command: Command, { store, catalog }: Engine): Promise<Reply> {
  const from = fullName(command.string('renameCollection'));
  const to = fullName(command.string('to'));
  return store.write(() => {
    const collection = catalog.find(from);
    if (!collection) throw failure('NamespaceNotFound', `Source collection ${from} does not exist`);
    if (from === to) throw failure('IllegalOperation', "Can't rename a collection to itself");
    const existing = catalog.find(to);
    if (existing && !command.flag('dropTarget')) throw failure('NamespaceExists', 'target namespace exists');
    if (existing) catalog.drop(existing);
    catalog.rename(collection, to);
    return new Map();
  });
}

function fullName(given: string | undefined): string {
  const dot = given?.indexOf('.') ?? -1;
  if (given === undefined || dot < 1)
    throw failure('InvalidNamespace', `Invalid namespace specified '${given ?? ''}'`);
  return namespaceOf(given.slice(0, dot), given.slice(dot + 1));
}

/** @see https://www.mongodb.com/docs/manual/reference/command/listCollections/ */
export function listCollections(command: Command, { catalog }: Engine): Reply {
  const { database } = command;
  const filter = compileFilter(command.document('filter') ?? new Map());
  const nameOnly = command.flag('nameOnly');
  const listed = catalog
    .list(database)
    .map((collection) => describeCollection(collection, nameOnly))
    .filter((each) => filter.matches(each));
  return cursorReply(
    'firstBatch',
    listed.map((each) => encodeDocument(each)),
    0n,
    `${database}.$cmd.listCollections`,
  );
}

function describeCollection(
  { namespace, options, uuid, indexes }: Collection,
  nameOnly: boolean,
): BsonDocument {
  const name = namespace.slice(namespace.indexOf('.') + 1);
  const short = { name, type: 'collection' };
  if (nameOnly) return toBson(short);
  const info = { readOnly: false, uuid: new Binary(uuid, Binary.SUBTYPE_UUID) };
  const idIndex = indexes.find((index) => index.name === '_id_')?.definition.spec;
  return toBson({ ...short, options, info, idIndex });
}

/** @see https://www.mongodb.com/docs/manual/reference/command/listDatabases/ */
export function listDatabases(command: Command, { catalog }: Engine): Reply {
  const filter = compileFilter(command.document('filter') ?? new Map());
  const nameOnly = command.flag('nameOnly');
  const names = [
    ...new Set(catalog.list().map(({ namespace }) => namespace.slice(0, namespace.indexOf('.')))),
  ];
  const databases = names
    .sort()
    .map((name) =>
      toBson(nameOnly ? { name } : { name, sizeOnDisk: sizeOf(catalog.list(name)), empty: false }),
    )
    .filter((each) => filter.matches(each));
  return replyOf({ databases, totalSize: nameOnly ? undefined : sizeOf(catalog.list()) });
}

function sizeOf(collections: readonly Collection[]): Double {
  return new Double(collections.reduce((sum, { counters }) => sum + counters.size, 0));
}
