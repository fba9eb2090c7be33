import { type ModelDefinition, Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import { Types } from 'mongoose';
import { IsListOf, IsOneOf, IsText, IsTimestamp, IsWholeNumber, schemaOf } from '../../fields/index.js';
import { reserveCollection } from '../../database/index.js';
import { OBJECT_ID_PATTERN } from '../../ids/index.js';

/** How long a delivery is kept. Unit: seconds. */
const RETENTION_S = 30 * 24 * 60 * 60;

const DELIVERY_STATUSES = ['pending', 'delivered', 'dead'] as const;

type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One request to the target of a subscription. */
export class Attempt {
  @IsTimestamp({ example: '2026-01-31T09:00:00.120Z' })
  at!: Date;

  @IsWholeNumber({
    min: 100,
    max: 999,
    optional: true,
    description: 'Status of the answer; absent if there was none',
    example: 503,
  })
  status?: number;

  @IsText({
    max: 1_000,
    optional: true,
    description: 'Why the attempt failed; absent if it succeeded',
    example: 'The target answered with 503.',
  })
  error?: string;
}

/** The event of a delivery. Clients cannot send one: only the queue makes deliveries. */
export class DeliveredEvent {
  @IsText({
    min: 1,
    max: 100,
    description: 'Identifier of the event: the `webhook-id` of every attempt',
    example: 'evt_665f1c2ab7e3a90d4c8b4567',
  })
  event!: string;

  @IsText({ min: 1, max: 200, description: 'Type of the event', example: 'posts.created' })
  type!: string;
}

/**
 * A delivery as its tenant can read it. The queue writes the same documents, with more fields, through its
 * own model, and increases `__v` with every change that clients can see, since the `ETag` is made from it.
 */
@Schema({ timestamps: { createdAt: true, updatedAt: false } })
export class Delivery extends DeliveredEvent {
  @Prop({ type: Types.ObjectId, required: true })
  subscription!: Types.ObjectId;

  @Prop({ type: Types.ObjectId, required: true })
  tenant!: Types.ObjectId;

  @IsOneOf(DELIVERY_STATUSES, {
    description: 'Whether it is to be attempted at `nextAttemptAt`, has succeeded, or is given up',
  })
  status!: DeliveryStatus;

  @IsListOf(() => Attempt, { max: 50, description: 'The latest attempts, the newest last' })
  attempts!: Attempt[];

  @IsTimestamp({ optional: true, description: 'When a pending delivery is attempted next' })
  nextAttemptAt?: Date;
}

/** A delivery as clients see it. */
export class DeliveryView extends OmitType(Delivery, ['subscription', 'tenant']) {
  @ApiProperty({ pattern: OBJECT_ID_PATTERN, example: '665f1c2ab7e3a90d4c8b4567' })
  _id!: string;
}

/** A delivery as the queue stores it. */
export interface QueuedDelivery extends Delivery {
  readonly createdAt: Date;
  /** Number of attempts of the schedule so far. */
  readonly tries: number;
  /** When a worker may take it: at its next attempt, or when its lease ends; absent unless it is pending. */
  readonly dueAt?: Date;
  /** Identifies the current claim of a worker; absent if no worker attempts it. */
  readonly lease?: string;
}

/** Finds due deliveries of all subscriptions, oldest first. */
export const DUE_INDEX = { status: 1, dueAt: 1, subscription: 1 } as const;

/**
 * Finds the due deliveries of one subscription, in the order in which attempts were planned, so that a
 * delivery whose worker crashed keeps its place. Also counts them, and finds the subscriptions that have any.
 */
export const DUE_OF_SUBSCRIPTION_INDEX = { status: 1, subscription: 1, nextAttemptAt: 1, dueAt: 1 } as const;

/** Counts dead deliveries. */
export const DEAD_INDEX = { status: 1 } as const;

// Delivered ones, nearly the whole collection, are in none of the indexes that the queue works with.
const ofStatus = (status: DeliveryStatus) => ({ partialFilterExpression: { status } });

/** The queue's model has its own name, because the resource has a model of the same collection. */
export const DELIVERY_MODEL: ModelDefinition = {
  name: 'QueuedDelivery',
  collection: 'deliveries',
  schema: reserveCollection(
    schemaOf(Delivery)
      .add({ tries: Number, dueAt: Date, lease: String })
      .index({ event: 1, subscription: 1 }, { unique: true })
      .index({ createdAt: 1 }, { expireAfterSeconds: RETENTION_S })
      .index(DUE_INDEX, ofStatus('pending'))
      .index(DUE_OF_SUBSCRIPTION_INDEX, ofStatus('pending'))
      .index(DEAD_INDEX, ofStatus('dead')),
    Delivery,
  ),
};

/** How long to wait after the first, second, and later failed attempts. Unit: seconds. */
const DELAYS_S = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/** Maximum random part of a delay, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/** How long to wait after so many failed attempts; undefined after the last one. Unit: milliseconds. */
export function retryDelayMs(failed: number, random = Math.random()): number | undefined {
  const delay = DELAYS_S[failed - 1];
  return delay === undefined ? undefined : delay * 1_000 * (1 + JITTER * random);
}
