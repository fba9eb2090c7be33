import { type Fields, OUTBOX } from '../schema/store-types.js';
import { createHash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { ModelDefinition } from '@nestjs/mongoose';
import { type Model, type mongo, Schema, Types } from 'mongoose';
import { Batches, type Database, OPERATION_LIMITS, reserveCollection } from '../../database/index.js';
import { DuplicateValueError } from '../../errors/index.js';
import type { EntityEvent, WriteAction } from '../../events/index.js';
import { ANONYMOUS, currentTenant, type TenantContext } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { EventsDefinition } from '../definition/events.js';

/** Index that finds pending events. Sparse, so that records without any are not in it. */
const PENDING = `${OUTBOX}._id`;

/** Prefix of every event identifier, followed by 24 hexadecimal digits. */
const EVENT_PREFIX = 'evt_';

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
export function withOutbox(schema: Schema, { events }: CrudDefinition): Schema {
  if (!events) return schema;
  const extended = schema.clone();
  extended.add({ [OUTBOX]: { type: Schema.Types.Mixed, select: false } });
  extended.index({ [PENDING]: 1 }, { sparse: true });
  return extended;
}

/**
 * Removes one entry from its record, and the whole member with the last one, so that the record leaves the index. Two
 * processes that each remove one of two entries leave an empty list, which disappears with the record's next event.
 */
const withoutEntry = ({ id }: EntityEvent) => [
  { updateOne: { filter: { [PENDING]: id, [OUTBOX]: { $size: 1 } }, update: { $unset: { [OUTBOX]: 1 } } } },
  { updateOne: { filter: { [PENDING]: id }, update: { $pull: { [OUTBOX]: { _id: id } } } } },
];

/** How long a settled event waits so that one command can remove several. Unit: milliseconds. */
const SETTLE_MS = 100;

/** Distinguishes these commands from those of requests in the database's logs and profiles. */
const COMMENT = 'outbox';

/** Maximum number of events that one command removes. */
const MAX_BATCH = 500;

/** Reads only what a change of primary cannot undo. */
const LASTING = { ...OPERATION_LIMITS, readConcern: 'majority', readPreference: 'primary' } as const;

/** Age of an announced deletion that counts as given up if its record is still there. Unit: milliseconds. */
const GIVEN_UP_MS = 10 * 60 * 1_000;

type Pending = Readonly<Fields> & { readonly [OUTBOX]: readonly OutboxEntry[] };

/** A record as it was when its deletion was announced. It counts as soon as the record is gone. */
interface Announced {
  /** Name of the resource and identifier of the record. */
  readonly _id: string;
  readonly resource: string;
  readonly id: unknown;
  /** Revision of the record, which is deleted in this revision only; -1 if it has none. */
  readonly revision: number;
  readonly at: Date;
  /** The record, without what the schema hides. */
  readonly record: Readonly<Fields>;
  /** The events that the record had pending, and that of the deletion. */
  readonly [OUTBOX]: readonly OutboxEntry[];
}

const deletedSchema = new Schema({ _id: String, resource: String }, { versionKey: false, strict: false });

/** The announced deletions of all resources. */
export const DELETED_MODEL: ModelDefinition = {
  name: 'DeletedRecord',
  collection: 'deleted_records',
  schema: reserveCollection(deletedSchema.index({ resource: 1, at: 1 })),
};

const announcedId = (resource: string, id: unknown) => `${resource}/${String(id)}`;

/** The unsettled events of a resource: each in its record, by the write that it describes, or beside a deleted one. */
export class Outbox {
  private readonly settling: Batches<EntityEvent, unknown>;

  constructor(
    private readonly model: Model<Fields>,
    private readonly database: Database,
    readonly definition: CrudDefinition,
    readonly events: EventsDefinition,
  ) {
    this.settling = new Batches((events) => this.takeOut(events), { max: MAX_BATCH, lingerMs: SETTLE_MS });
  }

  /**
   * Unsettled events from before a time, oldest first, with the record as it is, or was deleted, as it is shown without
   * a token.
   *
   * @param limit maximum number of records to read; each may have several events
   */
  async pending(olderThan: Date, limit: number): Promise<EntityEvent[]> {
    const deleted = await this.deleted(olderThan, limit);
    // The first condition is the one that uses the index.
    const filter = { [PENDING]: { $gte: EVENT_PREFIX }, [`${OUTBOX}.at`]: { $lt: olderThan } };
    const options = { ...OPERATION_LIMITS, limit, comment: COMMENT };
    const query = this.model.find(filter, null, options).select(this.hiddenFields).lean<Pending[]>();
    const written = await this.database.call(() => query.exec());
    return [...written.map((record) => ({ record, [OUTBOX]: record[OUTBOX] })), ...deleted]
      .flatMap(({ record, [OUTBOX]: entries }) => entries.map((entry) => ({ record, entry })))
      .filter(({ entry }) => entry.at < olderThan)
      .sort((one, other) => one.entry.at.getTime() - other.entry.at.getTime())
      .map(({ record, entry }) =>
        eventOf(this.definition, { ...ANONYMOUS, tenant: entry.tenant }, record, entry),
      );
  }

  /** The members of a record besides those that the schema shows, for {@link Outbox.storeDeletion}. */
  get hiddenFields(): string[] {
    return [`+${OUTBOX}`, `+${this.events.tenant}`];
  }

  /**
   * Stores the event of a deletion before the record is deleted, together with those that the record has pending.
   *
   * @param found the record, with its {@link Outbox.hiddenFields}
   * @param entry undefined if subscribers are not told of the deletion
   * @returns the only revision that may be deleted; undefined if the deletion of a later one has been announced
   */
  async storeDeletion(
    found: object,
    entry: OutboxEntry | undefined,
    database: Database,
  ): Promise<object | undefined> {
    const { [OUTBOX]: pending = [], ...record } = found as Partial<Pending> & { __v?: number };
    const { _id: id, __v } = record;
    const { name } = this.definition;
    const revision = __v ?? -1;
    const known = { _id: announcedId(name, id), revision: { $lte: revision } };
    const condition = { _id: id, __v: __v ?? null };
    const events = [...pending, ...(entry ? [entry] : [])];
    if (events.length === 0) return condition;
    const at = entry?.at ?? new Date();
    const announced = { resource: name, id, revision, at, record, [OUTBOX]: events };
    try {
      await database.call(() =>
        this.announcements.replaceOne(known, announced, { ...database.limits, upsert: true }),
      );
      return condition;
    } catch (error) {
      if (error instanceof DuplicateValueError) return undefined;
      throw error;
    }
  }

  /** Removes events from their records, whose revision and `updatedAt` do not change: they are never pending again. */
  async settle(events: readonly EntityEvent[]): Promise<void> {
    const settled = events.filter(({ id }) => id !== undefined);
    await Promise.all(settled.map((event) => this.settling.add(event)));
  }

  /** Removes settled events at once. */
  drain(): Promise<void> {
    return this.settling.drain();
  }

  private get announcements(): mongo.Collection<Announced> {
    return this.model.db.model(DELETED_MODEL.name).collection as unknown as mongo.Collection<Announced>;
  }

  /** The announced deletions that have happened, oldest first, however many others have not. Removes those given up. */
  private async deleted(olderThan: Date, limit: number): Promise<Announced[]> {
    const { announcements, database, definition, model } = this;
    const filter = { resource: definition.name, at: { $lt: olderThan } };
    const deleted: Announced[] = [];
    for (let living = 0; ;) {
      const options = { ...LASTING, sort: { at: 1 }, skip: deleted.length + living, limit } as const;
      const page = await database.call(() => announcements.find(filter, options).toArray());
      if (page.length === 0) return deleted;
      const ids = { _id: { $in: page.map(({ id }) => id) } };
      const present = await database.call(() =>
        model.collection.find(ids as never, { ...LASTING, projection: { _id: 1 } }).toArray(),
      );
      const alive = new Set(present.map(({ _id }) => announcedId(definition.name, _id)));
      deleted.push(...page.filter(({ _id }) => !alive.has(_id)));
      for (const { _id, at } of page.filter((announced) => alive.has(announced._id))) {
        if (at.getTime() < Date.now() - GIVEN_UP_MS)
          await database.call(() => announcements.deleteOne({ _id, at }, { ...OPERATION_LIMITS }));
        else living += 1;
      }
      if (page.length < limit || deleted.length >= limit) return deleted;
    }
  }

  private async takeOut(settled: readonly EntityEvent[]): Promise<unknown[]> {
    const ids = settled.map(({ id }) => id);
    const options = { ...OPERATION_LIMITS, ordered: true, comment: COMMENT };
    const updates = settled.flatMap(withoutEntry);
    const { matchedCount } = await this.database.call(() =>
      this.model.collection.bulkWrite(updates as never, options),
    );
    if (matchedCount === ids.length) return [];
    // Records have been deleted meanwhile, with events that had been pending.
    const records = settled.map(({ record }) => announcedId(this.definition.name, (record as Fields)._id));
    const _id = { $in: records };
    const taken = [
      { updateMany: { filter: { _id }, update: { $pull: { [OUTBOX]: { _id: { $in: ids } } } } } },
      { deleteMany: { filter: { _id, [OUTBOX]: { $size: 0 } } } },
    ];
    await this.database.call(() => this.announcements.bulkWrite(taken as never, options));
    return [];
  }
}

/** Digits of the event of a deletion, the same for all who delete a record at the same time: one of them succeeds. */
export function deletionIdOf(id: unknown): string {
  const hash = createHash('sha256').update(`deleted ${String(id)}`);
  return hash.digest('hex').slice(0, 24);
}

/** The outboxes of an application, by resource name. */
@Injectable()
export class Outboxes implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly outboxes = new Map<string, Outbox>();
  private isRead = false;

  add(outbox: Outbox): void {
    this.outboxes.set(outbox.definition.name, outbox);
  }

  /** The outbox of a resource; undefined if the resource does not exist or has no events. */
  of(resource: string): Outbox | undefined {
    return this.outboxes.get(resource);
  }

  /** All outboxes, by resource name, for the one who records and settles their events. */
  read(): ReadonlyMap<string, Outbox> {
    this.isRead = true;
    return this.outboxes;
  }

  /** @throws Error if nobody has come to settle the events, which would pile up in the records */
  onApplicationBootstrap(): void {
    const [first] = this.outboxes.values();
    if (!first || this.isRead) return;
    throw new Error(
      `CrudModule.forFeature(${first.definition.label}): nobody delivers its events. Import NotificationsModule.forRoot(…) in the root module, or leave out events.`,
    );
  }

  /** Removes settled events while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.outboxes.values()].map((outbox) => outbox.drain()));
  }
}

/** The event of a write, without its record. @param names of the fields that it sets, changes or removes */
export function entryOf(
  { presenter }: CrudDefinition,
  { tenant }: TenantContext,
  action: WriteAction,
  names: readonly string[],
  { id = new Types.ObjectId(), at = new Date() }: { id?: unknown; at?: Date } = {},
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
  { name, events, isolation, present }: CrudDefinition,
  caller: TenantContext,
  record: object,
  { _id, action, at, changed, tenant }: OutboxEntry,
): EntityEvent {
  const event = {
    resource: name,
    action,
    record: present(record, caller),
    changed,
    tenant,
    time: at.toISOString(),
  };
  if (!events) return event;
  const isOfCaller = isolation[action === 'restore' ? 'update' : action][events.tenant] === currentTenant;
  // Where the schema hides the field, only the sweep reads it.
  const { [events.tenant]: owner = isOfCaller ? tenant : undefined } = record as Fields;
  return { id: _id, ...event, ...(owner !== undefined && { owner: String(owner) }) };
}
