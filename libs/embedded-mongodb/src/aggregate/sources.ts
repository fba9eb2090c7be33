import { Long } from 'bson';
import { describe } from '../bson/describe.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber, typeName } from '../bson/types.js';
import { failure, failureAt, unsupported } from '../errors.js';
import { usageOf } from '../index/usage.js';
import type { Collection } from '../storage/collection.js';
import { figure, storageFigures } from '../storage/figures.js';

/** The collection that a pipeline runs over; it may not exist. */
export interface SourceContext {
  namespace: string;
  collection: Collection | undefined;
}

/** The documents that a pipeline begins with, in place of a collection's. */
export type Source = (context: SourceContext) => BsonDocument[];

/** Stages that come first and make documents of their own, by their names. */
export const sourceStages: Readonly<Record<string, (argument: BsonValue) => Source>> = {
  $collStats: collStats,
  $indexStats: indexStats,
};

const host = 'localhost';

/** `$collStats`: figures of the collection; those about latency and executions are not gathered here. */
function collStats(argument: BsonValue): Source {
  if (!isDocument(argument)) {
    throw failureAt(
      5447000,
      `$collStats must take a nested object but found: $collStats: ${describe(argument)}`,
    );
  }
  for (const [name, value] of argument) {
    if (name === 'latencyStats' || name === 'queryExecStats') throw unsupported(`$collStats with ${name}`);
    if (name !== 'count' && name !== 'storageStats')
      throw failureAt(40415, `BSON field '$collStats.${name}' is an unknown field.`);
    if (!isDocument(value)) {
      throw failure(
        'TypeMismatch',
        `BSON field '$collStats.${name}' is the wrong type '${typeName(value)}', expected type 'object'`,
      );
    }
  }
  const storage = argument.get('storageStats');
  const scale = isDocument(storage) ? scaleOf(storage.get('scale')) : 1;
  return ({ namespace, collection }) => {
    const result: BsonDocument = new Map<string, BsonValue>([
      ['ns', namespace],
      ['host', host],
      ['localTime', new Date()],
    ]);
    const [wanted] = argument.keys();
    if (!collection && wanted !== undefined) {
      throw failure(
        'NamespaceNotFound',
        `Unable to retrieve ${wanted} in $collStats stage :: caused by :: Collection [${namespace}] not found.`,
      );
    }
    if (collection && storage) result.set('storageStats', storageFigures(collection, scale));
    if (collection && argument.has('count')) result.set('count', figure(collection.counters.documents));
    return [result];
  };
}

function scaleOf(scale: BsonValue | undefined): number {
  if (scale === undefined) return 1;
  if (!isNumber(scale)) {
    throw failure(
      'TypeMismatch',
      `BSON field '$collStats.storageStats.scale' is the wrong type '${typeName(scale)}', expected a number`,
    );
  }
  const value = Math.trunc(toDouble(scale));
  if (value >= 1) return value;
  throw failureAt(51024, `BSON field 'scale' value must be >= 1, actual value '${describe(scale)}'`);
}

/** `$indexStats`: the indexes and how often each was used. */
function indexStats(argument: BsonValue): Source {
  if (!isDocument(argument) || argument.size > 0)
    throw failureAt(28803, 'The $indexStats stage specification must be an empty object');
  return ({ collection }) =>
    (collection?.indexes ?? [])
      .filter(({ ready }) => ready)
      .map((index) => {
        const { operations, since } = usageOf(index);
        const accesses: BsonDocument = new Map<string, BsonValue>([
          ['ops', Long.fromNumber(operations)],
          ['since', since],
        ]);
        return new Map<string, BsonValue>([
          ['name', index.name],
          ['key', index.definition.key],
          ['host', host],
          ['accesses', accesses],
          ['spec', index.definition.spec],
        ]);
      });
}
