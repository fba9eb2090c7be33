import { type Source, stages } from '../../pipeline/stage.js';
import { describe } from '../../bson/describe.js';
import { toDouble } from '../../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber, typeName } from '../../bson/types.js';
import { failure, failureAt, unsupported } from '../../errors.js';
import { figure, storageFigures } from '../../catalog/figures.js';

stages.define('$collStats', { source: collStats });

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
      ['host', 'localhost'],
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
