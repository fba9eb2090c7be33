import { Schema } from 'mongoose';
import type { WriteAction } from '../../events/index.js';

/** Hidden member of a record that holds the events of its writes until they are settled; only the store knows it. */
export const OUTBOX = '_outbox';

/** Index that finds what is pending: sparse, so that records with nothing pending are not in it. */
const PENDING = `${OUTBOX}._id`;

/** Prefix of every identifier of an event; 24 hexadecimal digits follow. */
export const EVENT_PREFIX = 'evt_';

/** The stored part of an event; the record completes it. */
export interface OutboxEntry {
  /** Identifier of the event. */
  readonly _id: string;
  readonly action: WriteAction;
  /** When it was written. */
  readonly at: Date;
  /** Names of the visible fields that it set, changed or removed. */
  readonly changed: readonly string[];
  /** The tenant that wrote it; absent if no token was asked for. */
  readonly tenant?: string;
}

/** The schema of a model whose records keep their events, hidden and indexed while any is pending. */
export function withOutbox(schema: Schema, hasOutbox: boolean): Schema {
  if (!hasOutbox) return schema;
  const extended = schema.clone();
  extended.add({ [OUTBOX]: { type: Schema.Types.Mixed, select: false } });
  extended.index({ [PENDING]: 1 }, { sparse: true });
  return extended;
}

/** Matches what has been pending since before a time; the first condition is what the index serves. */
export const pendingBefore = (time: Date) => ({
  [PENDING]: { $gte: EVENT_PREFIX },
  [`${OUTBOX}.at`]: { $lt: time },
});

/**
 * Takes one entry out of its record, and the whole member with the last one, so that the index forgets the record. An empty list
 * that two processes leave, each of which took out one of two entries, goes with the record's next event.
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
