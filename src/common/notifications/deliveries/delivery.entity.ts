import { Prop, Schema } from '@nestjs/mongoose';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import { Types } from 'mongoose';
import { IsListOf, IsOneOf, IsText, IsTimestamp, IsWholeNumber } from '../../fields/index.js';
import { OBJECT_ID_PATTERN } from '../../ids/index.js';

const DELIVERY_STATUSES = ['pending', 'delivered', 'dead'] as const;

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
  status!: (typeof DELIVERY_STATUSES)[number];

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
