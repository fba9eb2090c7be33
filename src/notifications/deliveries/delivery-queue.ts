import { Injectable } from '@nestjs/common';
import type { Types } from 'mongoose';

/** A delivery that is to be made. */
export interface NewDelivery {
  readonly subscription: Types.ObjectId;
  readonly tenant: Types.ObjectId;
  /** Identifier of the event. */
  readonly event: string;
  readonly type: string;
}

/** A delivery that this worker has leased: it alone may attempt it until then. */
export interface ClaimedDelivery extends NewDelivery {
  readonly _id: Types.ObjectId;
  readonly lease: string;
  readonly leasedUntil: Date;
  /** Attempts of the schedule that were made before this one. */
  readonly tries: number;
}

/** Outcome of one attempt. */
export interface AttemptOutcome {
  readonly at: Date;
  /** Status of the answer, if there was one. */
  readonly status?: number;
  /** Reason why the attempt counts as failed; absent after a success. */
  readonly error?: string;
  /** Ends the schedule, as the status 410 does. @default false */
  readonly final?: boolean;
}

/** Figures for the operator. */
export interface QueueStats {
  readonly waiting: number;
  readonly inFlight: number;
  readonly dead: number;
  /** Age of the oldest delivery that is due. Unit: seconds. */
  readonly oldestDueSeconds: number;
}

/** The durable queue of deliveries, in the database. */
@Injectable()
export class DeliveryQueue {
  /** Adds deliveries that are due at once; one that is there already, by its event and subscription, stays as it is. */
  add(_deliveries: readonly NewDelivery[]): Promise<void> {
    throw new Error('Not built yet');
  }

  /** Leases deliveries that are due, the oldest first, each for 30 s. */
  claim(_limit: number, _options?: { except?: readonly Types.ObjectId[] }): Promise<ClaimedDelivery[]> {
    throw new Error('Not built yet');
  }

  /** Writes the outcome of an attempt, unless the lease was lost; schedules the next attempt or ends the delivery. */
  finish(_delivery: ClaimedDelivery, _outcome: AttemptOutcome): Promise<void> {
    throw new Error('Not built yet');
  }

  /** Makes a delivery of a subscription due again; false if it is delivered or in flight. */
  retry(_subscription: Types.ObjectId, _delivery: Types.ObjectId): Promise<boolean> {
    throw new Error('Not built yet');
  }

  stats(): Promise<QueueStats> {
    throw new Error('Not built yet');
  }

  /** Calls the listener after this process has added deliveries; returns a function that ends it. */
  onAdd(_listener: () => void): () => void {
    throw new Error('Not built yet');
  }
}
