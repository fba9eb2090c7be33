import type { Model } from 'mongoose';
import { type Database, Gatherer, OPERATION_LIMITS } from '../../database/index.js';
import type { EntityEvent } from '../../events/index.js';
import { ANONYMOUS } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { eventOf } from '../definition/event-of.js';
import { OUTBOX, type OutboxEntry, pendingBefore, withoutEntry } from './outbox-entry.js';

/** How long a settled event waits so that one command can remove several. Unit: milliseconds. */
const SETTLE_MS = 100;

/** Distinguishes these commands from those of requests in the database's logs and profiles. */
const COMMENT = 'outbox';

/** Maximum number of events that one command removes. */
const MAX_BATCH = 500;

type Pending = Record<string, unknown> & { readonly [OUTBOX]: readonly OutboxEntry[] };

/** The unsettled events of a resource. Each is stored in its record by the write that it describes. */
export class Outbox {
  private readonly settling: Gatherer<string, unknown>;

  constructor(
    private readonly model: Model<Record<string, unknown>>,
    private readonly database: Database,
    private readonly definition: CrudDefinition,
  ) {
    this.settling = new Gatherer((ids) => this.takeOut(ids), { max: MAX_BATCH, lingerMs: SETTLE_MS });
  }

  /**
   * Events that were written before a time and are not settled, oldest first, each with its current record as
   * clients without a token see it.
   *
   * @param limit maximum number of records to read; each may have several events
   */
  async pending(olderThan: Date, limit: number): Promise<EntityEvent[]> {
    const query = this.model
      .find(pendingBefore(olderThan), null, { ...OPERATION_LIMITS })
      .select(`+${OUTBOX}`)
      .limit(limit)
      .comment(COMMENT)
      .lean<Pending[]>();
    const found = await this.database.call(() => query.exec());
    return found
      .flatMap((record) => record[OUTBOX].map((entry) => ({ record, entry })))
      .filter(({ entry }) => entry.at < olderThan)
      .sort((one, other) => one.entry.at.getTime() - other.entry.at.getTime())
      .map(({ record, entry }) =>
        eventOf(this.definition, { ...ANONYMOUS, tenant: entry.tenant }, record, entry),
      );
  }

  /**
   * Settles events: they are never pending again. Resolves when they have been removed from their records,
   * whose revision and `updatedAt` do not change.
   */
  async settle(events: readonly EntityEvent[]): Promise<void> {
    const ids = events.flatMap(({ id }) => id ?? []);
    await Promise.all(ids.map((id) => this.settling.add(id)));
  }

  /** Removes the events that are being settled at once. */
  drain(): Promise<void> {
    return this.settling.drain();
  }

  private async takeOut(ids: readonly string[]): Promise<unknown[]> {
    const updates = ids.flatMap(withoutEntry);
    await this.database.call(() =>
      this.model.collection.bulkWrite(updates as never, {
        ...OPERATION_LIMITS,
        ordered: true,
        comment: COMMENT,
      }),
    );
    return [];
  }
}
