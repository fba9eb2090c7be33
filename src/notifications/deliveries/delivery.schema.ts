import { Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { Types } from 'mongoose';

/** How long a delivery is kept. Unit: seconds. */
const KEPT_S = 30 * 24 * 60 * 60;

export const DELIVERY_STATUSES = ['pending', 'delivered', 'dead'] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One attempt to deliver an event. */
@Schema({ _id: false })
export class DeliveryAttempt {
  @Prop({ type: Date, required: true })
  at!: Date;

  /** Status of the response, if there was one. */
  @Prop({ type: Number })
  status?: number;

  /** Why the attempt counts as failed. */
  @Prop({ type: String })
  error?: string;
}

/** An event on its way to one subscription. */
@Schema({ versionKey: false })
export class Delivery {
  @Prop({ type: Types.ObjectId, required: true })
  subscription!: Types.ObjectId;

  @Prop({ type: Types.ObjectId, required: true })
  tenant!: Types.ObjectId;

  /** Identifier of the event. */
  @Prop({ type: String, required: true })
  event!: string;

  /** Type of the event, such as `posts.created`. */
  @Prop({ type: String, required: true })
  type!: string;

  @Prop({ type: String, enum: DELIVERY_STATUSES, default: 'pending' })
  status!: DeliveryStatus;

  /** The latest attempts, newest last. */
  @Prop({ type: [SchemaFactory.createForClass(DeliveryAttempt)], default: [] })
  attempts!: DeliveryAttempt[];

  /** When the next attempt is planned; absent unless the delivery is pending. */
  @Prop({ type: Date })
  nextAttemptAt?: Date;

  @Prop({ type: Date, required: true, expires: KEPT_S })
  createdAt!: Date;

  /** Number of attempts of the schedule so far. */
  @Prop({ type: Number, default: 0, select: false })
  tries!: number;

  /** When a worker may take it: at its next attempt, or when its lease ends; absent unless it is pending. */
  @Prop({ type: Date, select: false })
  dueAt?: Date;

  /** Identifies the current claim of a worker; absent if no worker attempts it. */
  @Prop({ type: String, select: false })
  lease?: string;
}

/** The queue's model has its own name because a resource may have a model of the same collection. */
export const QUEUED_DELIVERY = 'QueuedDelivery';

/** Finds due deliveries of all subscriptions, oldest first. */
export const DUE_INDEX = { status: 1, dueAt: 1, subscription: 1 } as const;

/**
 * Finds the due deliveries of one subscription, in the order in which attempts were planned, so that a
 * delivery whose worker crashed keeps its place. Also finds the subscriptions that have something pending.
 */
export const DUE_OF_SUBSCRIPTION_INDEX = {
  status: 1,
  subscription: 1,
  nextAttemptAt: 1,
  dueAt: 1,
} as const;

/** Counts dead deliveries. */
export const DEAD_INDEX = { status: 1 } as const;

// Delivered ones, nearly the whole collection, are in none of the indexes that the queue works with.
const ofStatus = (status: DeliveryStatus) => ({ partialFilterExpression: { status } });

export const DeliverySchema = SchemaFactory.createForClass(Delivery)
  .index({ event: 1, subscription: 1 }, { unique: true })
  .index(DUE_INDEX, ofStatus('pending'))
  .index(DUE_OF_SUBSCRIPTION_INDEX, ofStatus('pending'))
  .index(DEAD_INDEX, ofStatus('dead'));
