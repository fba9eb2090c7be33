import type { Type } from '@nestjs/common';
import { type Connection, type IndexOptions, mongo, type Schema } from 'mongoose';
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

/** @throws Error if another model has a reserved collection: it would show, check and index the service's records */
export function rejectReservedCollections(models: Connection['models']): void {
  const all = Object.values(models);
  for (const { collection, modelName, schema } of all.filter((model) => reserved.has(model.schema))) {
    const owners = [modelName, reserved.get(schema)];
    const others = all.filter((model) => model.collection.name === collection.name);
    const other = others.find((model) => !owners.includes(model.modelName));
    if (!other) continue;
    throw new Error(
      `${other.modelName} has the collection "${collection.name}", which is that of the service's ${modelName}. Give the resource another name; its path can stay as it is.`,
    );
  }
}

/** The option of an index with the keys of one that an older version has made, and that it replaces. */
const REPLACES = 'replaces' as keyof IndexOptions;

/** Has a unique index of older versions dropped once there is the one with these options, which allows more. */
export function replacing(keys: object, options: IndexOptions): IndexOptions {
  return { ...options, [REPLACES]: keys };
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
    const all = Object.values(models).filter(({ collection }) => collection.name === name);
    const wanted = all.flatMap(({ schema }) => schema.indexes().map(([keys]) => JSON.stringify(keys)));
    await dropReplaced(database.collection(name), model.schema, wanted);
  }
  return failed;
}

/** @param wanted keys of the indexes of all models of the collection */
async function dropReplaced(
  collection: mongo.Collection,
  schema: Schema,
  wanted: readonly string[],
): Promise<void> {
  const replaced = schema.indexes().flatMap(([, options]) => JSON.stringify(options[REPLACES]) ?? []);
  if (replaced.length === 0) return;
  for (const { key, name = '', unique } of await collection.indexes()) {
    const keys = JSON.stringify(key);
    if (unique && replaced.includes(keys) && !wanted.includes(keys))
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
  const declared = schema.indexes().map(([key, options]) => {
    const { background: _, [REPLACES]: _replaces, ...others } = options;
    return { ...others, key } as mongo.IndexDescription;
  });
  return [...new Map(declared.map((index) => [JSON.stringify(index), index])).values()];
}
