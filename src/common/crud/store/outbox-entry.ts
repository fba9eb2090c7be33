import { Schema } from 'mongoose';
import type { WriteAction } from '../../events/index.js';

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
export const pendingBefore = (time: Date) => ({
  [PENDING]: { $gte: EVENT_PREFIX },
  [`${OUTBOX}.at`]: { $lt: time },
});

/**
 * Removes one entry from its record, and the whole member with the last one, so that the record leaves the
 * index. If two processes each remove one of two entries, they leave an empty list, which disappears with the
 * record's next event.
 */
export const withoutEntry = (id: string) => [
  {
    updateOne: {
      filter: { [PENDING]: id, [OUTBOX]: { $size: 1 } },
      update: { $unset: { [OUTBOX]: 1 } },
    },
  },
  { updateOne: { filter: { [PENDING]: id }, update: { $pull: { [OUTBOX]: { _id: id } } } } },
];
