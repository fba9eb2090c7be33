import type { BsonDocument, BsonValue } from './bson/types.js';
import type { Engine } from './commands/context.js';
import { changeMany } from './commands/modify.js';
import { Pauses } from './commands/pauses.js';
import { CommandError } from './errors.js';
import type { Index } from './index/index.js';

/** How often expired documents are removed, as in MongoDB. Unit: milliseconds. */
const defaultTtlIntervalMs = 60_000;

/** Errors that may end the sweep of an index and need not be reported. */
const expectedEnds = new Set(['QueryPlanKilled', 'InterruptedAtShutdown']);

/** Removes expired documents regularly. An index that fails is reported and does not affect the others. */
export class TtlMonitor {
  private readonly timer: NodeJS.Timeout;
  private running = false;

  constructor(
    private readonly engine: Engine,
    intervalMs = defaultTtlIntervalMs,
  ) {
    this.timer = setInterval(() => void this.sweep(), intervalMs);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async sweep(): Promise<void> {
    if (this.running) return;
    this.running = true;
    for (const { namespace, indexes } of this.engine.catalog.list()) {
      for (const index of [...indexes]) {
        try {
          await this.engine.transactions.runOutside(() => removeExpired(this.engine, namespace, index));
        } catch (error) {
          if (!(error instanceof CommandError && expectedEnds.has(error.codeName)))
            report(namespace, index.name, error);
        }
      }
    }
    this.running = false;
  }
}

/** Removes the documents that have expired according to a TTL index. */
async function removeExpired(engine: Engine, namespace: string, index: Index): Promise<void> {
  const { fields, expireAfterSeconds, spec } = index.definition;
  const [field] = fields;
  if (!index.ready || expireAfterSeconds === undefined || !field) return;
  const latest = new Date(Date.now() - expireAfterSeconds * 1_000);
  const expired: BsonDocument = new Map<string, BsonValue>([['$lte', latest]]);
  // A partial index applies only to the documents in it.
  const conditions = [new Map([[field.path, expired]]), spec.get('partialFilterExpression') ?? new Map()];
  const filter: BsonDocument = new Map([['$and', conditions]]);
  await changeMany(engine, namespace, { filter, within: index }, undefined, new Pauses(0));
}

function report(namespace: string, index: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  process.emitWarning(
    `Expired documents of ${namespace} (index ${index}) were not removed: ${reason}. The next attempt follows.`,
  );
}
