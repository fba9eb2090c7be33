import type { Type } from '@nestjs/common';
import { type Connection, mongo, type Schema } from 'mongoose';
import { DatabaseUnavailableError } from '../errors/index.js';
import { translateDatabaseError } from './database-errors.js';

const NAMESPACE_EXISTS = 48;

const INDEX_NOT_FOUND = 27;

/** Schemas of the service's own models, with the name of the model that may have their collection, too. */
const reserved = new WeakMap<Schema, string | undefined>();

/** Keeps the collection of a schema for the service. Only a resource of the entity may show it. */
export function reserveCollection<S extends Schema>(schema: S, entity?: Type<object>): S {
  reserved.set(schema, entity?.name);
  return schema;
}

/**
 * Checks that no other model has a collection of {@link reserveCollection}: it would show, check and index the
 * records of the service.
 *
 * @throws Error that names the collection and both models
 */
export function rejectReservedCollections(models: Connection['models']): void {
  for (const { collection, modelName, schema } of Object.values(models)) {
    if (!reserved.has(schema)) continue;
    const other = Object.values(models).find(
      (model) =>
        model.collection.name === collection.name &&
        ![modelName, reserved.get(schema)].includes(model.modelName),
    );
    if (!other) continue;
    throw new Error(
      `${other.modelName} has the collection "${collection.name}", which is that of the service's ${modelName}. Give the resource another name; its path can stay as it is.`,
    );
  }
}

/** The schema option with the keys of indexes that an older version has made, and another one replaces. */
const REPLACED = 'replacedIndexes' as never;

/** Has a unique index of older versions dropped once the collection has the indexes of the schema, which allow more. */
export function replaceIndex(schema: Schema, keys: object): void {
  schema.set(REPLACED, [...replacedOf(schema), keys] as never);
}

function replacedOf(schema: Schema): object[] {
  return (schema.get(REPLACED) as object[] | undefined) ?? [];
}

/** Has a function use a database; by its address, without a socket time-out: an index may take long to build. */
export async function withPatientDatabase<T>(
  where: mongo.Db | string,
  use: (database: mongo.Db) => Promise<T>,
): Promise<T> {
  if (typeof where !== 'string') return use(where);
  const client = new mongo.MongoClient(where, { serverSelectionTimeoutMS: 2_000, connectTimeoutMS: 2_000 });
  try {
    await client.connect();
    return await use(client.db());
  } finally {
    await client.close();
  }
}

/**
 * Creates the missing collections and indexes that the models declare.
 *
 * @param mayFail names of the collections whose indexes may be ones that the database cannot build
 * @returns why it cannot, by the name of the collection
 * @throws the driver's error for another collection, and if the server cannot be reached
 */
export async function prepareCollections(
  database: mongo.Db,
  models: Connection['models'],
  mayFail: ReadonlySet<string>,
): Promise<ReadonlyMap<string, unknown>> {
  const failed = new Map<string, unknown>();
  const present = await database.listCollections({}, { nameOnly: true }).toArray();
  const names = new Set(present.map(({ name }) => name));
  // One after another, so that collections are created in a known order and an error names one model.
  for (const model of Object.values(models)) {
    const { name } = model.collection;
    if (!names.has(name)) await database.createCollection(name).catch(ignore(NAMESPACE_EXISTS));
    const indexes = declaredIndexes(model.schema);
    try {
      if (indexes.length > 0) await database.collection(name).createIndexes(indexes);
    } catch (error) {
      const isPassing = translateDatabaseError(error) instanceof DatabaseUnavailableError;
      if (isPassing || !mayFail.has(name)) throw error;
      failed.set(name, error);
      continue;
    }
    const declared = Object.values(models).filter(({ collection }) => collection.name === name);
    await dropReplaced(
      database.collection(name),
      replacedOf(model.schema).map((keys) => JSON.stringify(keys)),
      declared.flatMap(({ schema }) => schema.indexes().map(([keys]) => JSON.stringify(keys))),
    );
  }
  return failed;
}

async function dropReplaced(
  collection: mongo.Collection,
  replaced: readonly string[],
  declared: readonly string[],
): Promise<void> {
  if (replaced.length === 0) return;
  for (const { key, name = '', unique } of await collection.indexes()) {
    const keys = JSON.stringify(key);
    // Another model of the collection may want it.
    if (!unique || !replaced.includes(keys) || declared.includes(keys)) continue;
    await collection.dropIndex(name).catch(ignore(INDEX_NOT_FOUND));
  }
}

/** Another process was faster. */
function ignore(code: number): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof mongo.MongoServerError && error.code === code)) throw error;
  };
}

/** The indexes of a schema, each once. */
function declaredIndexes(schema: Schema): mongo.IndexDescription[] {
  const declared = schema
    .indexes()
    .map(([key, { background: _, ...options }]) => ({ ...options, key }) as mongo.IndexDescription);
  return [...new Map(declared.map((index) => [JSON.stringify(index), index])).values()];
}
