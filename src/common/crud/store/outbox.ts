import type { Model } from 'mongoose';
import { type Database, Gatherer, OPERATION_LIMITS } from '../../database/index.js';
import type { EntityEvent } from '../../events/index.js';
import { ANONYMOUS } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { eventOf } from '../definition/event-of.js';
import { OUTBOX, type OutboxEntry, pendingBefore, withoutEntry } from './outbox-entry.js';

/** How long settled events wait for others, to be taken out by one command. Unit: milliseconds. */
const SETTLE_MS = 100;

/** Tells these commands from those of requests, in the database's logs and profiles. */
const COMMENT = 'outbox';

/** Events that one command takes out. */
const MAX_BATCH = 500;

type Pending = Record<string, unknown> & { readonly [OUTBOX]: readonly OutboxEntry[] };

/** The events of a resource that nobody has settled: each is stored with its record by the write that it tells of. */
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
   * Events that were written before a time and are not settled, the oldest first, each with its record as clients without a
   * token see it now.
   *
   * @param limit maximum number of records to look at; one may have several events
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
   * Ends the events: they are never pending again. Resolves when they have been taken out of their records, whose revision
   * and `updatedAt` stay.
   */
  async settle(events: readonly EntityEvent[]): Promise<void> {
    const ids = events.flatMap(({ id }) => id ?? []);
    await Promise.all(ids.map((id) => this.settling.add(id)));
  }

  /** Takes out at once what is being settled. */
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
