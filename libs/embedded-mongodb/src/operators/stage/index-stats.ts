import { Long } from 'bson';
import { type Source, stages } from '../../pipeline/stage.js';
import { type BsonDocument, type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { usageOf } from '../../index/usage.js';

stages.define('$indexStats', { source: indexStats });

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
          ['host', 'localhost'],
          ['accesses', accesses],
          ['spec', index.definition.spec],
        ]);
      });
}
