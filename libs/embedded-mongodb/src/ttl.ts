import { Int32 } from 'bson';
import type { BsonDocument, BsonValue } from './bson/types.js';
import type { Engine } from './commands/context.js';
import { changeMany } from './commands/modify.js';
import { Pauses } from './commands/pauses.js';

/** How often expired documents are removed, as in MongoDB. Unit: milliseconds. */
export const ttlIntervalMs = 60_000;

/** Removes the documents whose TTL index says that they have expired. */
export async function removeExpired(engine: Engine, now = Date.now()): Promise<void> {
  for (const { namespace, indexes } of engine.catalog.list()) {
    for (const { ready, definition } of indexes) {
      const [field] = definition.fields;
      if (!ready || definition.expireAfterSeconds === undefined || !field) continue;
      const latest = new Date(now - definition.expireAfterSeconds * 1_000);
      const expired: BsonDocument = new Map<string, BsonValue>([['$lte', latest]]);
      const filter: BsonDocument = new Map<string, BsonValue>([[field.path, expired]]);
      const hint: BsonDocument = new Map([[field.path, new Int32(field.descending ? -1 : 1)]]);
      await changeMany(engine, namespace, { filter, hint }, undefined, new Pauses(0));
    }
  }
}
