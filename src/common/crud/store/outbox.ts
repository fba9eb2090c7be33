import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { type Model, Schema, Types } from 'mongoose';
import { Batches, type Database, OPERATION_LIMITS } from '../../database/index.js';
import type { EntityEvent, WriteAction } from '../../events/index.js';
import { ANONYMOUS, type TenantContext } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';

/**
 * Hidden member of a record that holds the events of its writes until they are settled. Only the store knows
 * it.
 */
export const OUTBOX = '_outbox';

/** Index that finds pending events. Sparse, so that records without any are not in it. */
const PENDING = `${OUTBOX}._id`;

/** Prefix of every event identifier, followed by 24 hexadecimal digits. */
export const EVENT_PREFIX = 'evt_';

/** The stored part of an event. The record completes it. */
export interface OutboxEntry {
  /** Identifier of the event. */
  readonly _id: string;
  readonly action: WriteAction;
  /** When the event was written. */
  readonly at: Date;
  /** Names of the visible fields that the write set, changed or removed. */
  readonly changed: readonly string[];
  /** The tenant that made the write; absent if no token was required. */
  readonly tenant?: string;
}

/** The schema of a model whose records keep their events, hidden, and indexed while any is pending. */
export function withOutbox(schema: Schema, hasOutbox: boolean): Schema {
  if (!hasOutbox) return schema;
  const extended = schema.clone();
  extended.add({ [OUTBOX]: { type: Schema.Types.Mixed, select: false } });
  extended.index({ [PENDING]: 1 }, { sparse: true });
  return extended;
}

/**
 * Matches records with events pending since before a time. The first condition is the one that uses the
 * index.
 */
const pendingBefore = (time: Date) => ({
  [PENDING]: { $gte: EVENT_PREFIX },
  [`${OUTBOX}.at`]: { $lt: time },
});

/**
 * Removes one entry from its record, and the whole member with the last one, so that the record leaves the
 * index. If two processes each remove one of two entries, they leave an empty list, which disappears with the
 * record's next event.
 */
const withoutEntry = (id: string) => [
  {
    updateOne: {
      filter: { [PENDING]: id, [OUTBOX]: { $size: 1 } },
      update: { $unset: { [OUTBOX]: 1 } },
    },
  },
  { updateOne: { filter: { [PENDING]: id }, update: { $pull: { [OUTBOX]: { _id: id } } } } },
];

/** How long a settled event waits so that one command can remove several. Unit: milliseconds. */
const SETTLE_MS = 100;

/** Distinguishes these commands from those of requests in the database's logs and profiles. */
const COMMENT = 'outbox';

/** Maximum number of events that one command removes. */
const MAX_BATCH = 500;

type Pending = Record<string, unknown> & { readonly [OUTBOX]: readonly OutboxEntry[] };

/** The unsettled events of a resource. Each is stored in its record by the write that it describes. */
export class Outbox {
  private readonly settling: Batches<string, unknown>;

  constructor(
    private readonly model: Model<Record<string, unknown>>,
    private readonly database: Database,
    private readonly definition: CrudDefinition,
  ) {
    this.settling = new Batches((ids) => this.takeOut(ids), { max: MAX_BATCH, lingerMs: SETTLE_MS });
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

/** The outboxes of an application, by resource name. */
@Injectable()
export class Outboxes implements BeforeApplicationShutdown {
  private readonly outboxes = new Map<string, Outbox>();

  add(resource: string, outbox: Outbox): void {
    this.outboxes.set(resource, outbox);
  }

  /** The outbox of a resource; undefined if the resource does not exist or has no outbox. */
  of(resource: string): Outbox | undefined {
    return this.outboxes.get(resource);
  }

  /** Removes settled events while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.outboxes.values()].map((outbox) => outbox.drain()));
  }
}

/** The action, fields and time of a write. */
interface Written {
  readonly action: WriteAction;
  /** Names of the fields that the write sets, changes or removes. */
  readonly names: readonly string[];
  /**
   * Identifier of the record that a create stores; the event's identifier derives from it.
   *
   * @default a new one for each write
   */
  readonly id?: unknown;
  /** @default now */
  readonly at?: Date;
}

/** The event of a write, without its record. */
export function entryOf(
  { presenter }: CrudDefinition,
  { tenant }: TenantContext,
  { action, names, id = new Types.ObjectId(), at = new Date() }: Written,
): OutboxEntry {
  const changed = [...new Set(names)].filter((field) => presenter.fields.includes(field));
  return {
    _id: `${EVENT_PREFIX}${String(id)}`,
    action,
    at,
    changed,
    ...(tenant !== undefined && { tenant }),
  };
}

/** The event of a write. */
export function eventOf(
  { name, outbox, present }: CrudDefinition,
  caller: TenantContext,
  record: object,
  { _id, action, at, changed, tenant }: OutboxEntry,
): EntityEvent {
  return {
    ...(outbox && { id: _id }),
    resource: name,
    action,
    record: present(record, caller),
    changed,
    tenant,
    time: at.toISOString(),
  };
}
