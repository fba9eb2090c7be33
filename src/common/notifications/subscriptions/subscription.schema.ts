import { type ModelDefinition, Prop, Schema } from '@nestjs/mongoose';
import { Schema as MongooseSchema, Types } from 'mongoose';
import { crudOptions } from '../../crud/index.js';
import { IsFlag, IsListOf, IsText } from '../../fields/index.js';
import { currentTenant } from '../../tenancy/index.js';

/** The body of a registration. */
export class SubscriptionInput {
  @IsText({
    min: 1,
    max: 2_000,
    description: 'Where events are sent: an http or https URL of a public address; in production https alone',
    example: 'https://example.com/webhooks',
  })
  url!: string;

  @IsListOf(IsText({ min: 1, max: 200 }), {
    min: 1,
    max: 1_000,
    unique: true,
    description: 'The types of events to be told of; `posts.*` names all of a resource',
    example: ['posts.*'],
  })
  events!: string[];

  @IsText({ max: 500, optional: true, example: 'Tells the newsletter' })
  description?: string;
}

/** The fields that a subscriber may change. */
export class SubscriptionChanges extends SubscriptionInput {
  @IsFlag({ default: true, description: 'Whether events are sent; false after the target answered with 410' })
  enabled!: boolean;
}

/** A target for the events of a tenant. */
@Schema({ timestamps: true })
export class Subscription extends SubscriptionChanges {
  @Prop({ type: Types.ObjectId, required: true, select: false })
  tenant!: Types.ObjectId;

  /** Its own among those of the tenant, so that a limited number can exist. */
  @Prop({ type: Number, select: false })
  slot!: number;

  /** Position in the log of events when it was registered: it gets later ones. */
  @Prop({ type: Number, select: false })
  since?: number;

  @Prop({ type: String, required: true, select: false })
  @IsText({
    max: 100,
    description: 'Key of the signatures: keep it where the target verifies them',
    example: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0GAMgYVGvUI=',
  })
  secret!: string;

  /** The replaced secrets that still sign webhooks, each until a time, newest first. */
  @Prop({
    type: [new MongooseSchema({ secret: String, until: Date }, { _id: false })],
    default: undefined,
    select: false,
  })
  previousSecrets?: { readonly secret: string; readonly until: Date }[];
}

/** Gives each slot of a tenant to one subscription. Not an index of the resource, since clients never meet it. */
export const SUBSCRIPTION_SLOTS: ModelDefinition = {
  name: 'SubscriptionSlot',
  collection: 'subscriptions',
  schema: new MongooseSchema({ tenant: Types.ObjectId, slot: Number }).index(
    { tenant: 1, slot: 1 },
    { unique: true, partialFilterExpression: { slot: { $exists: true } } },
  ),
};

/** Subscriptions: every action is limited to the caller's tenant, and the secret is shown once. */
export const subscriptionsCrud = crudOptions({
  entity: Subscription,
  input: { create: SubscriptionInput, update: SubscriptionChanges },
  name: 'subscriptions',
  tag: 'Notifications',
  isolationFields: { all: { tenant: currentTenant } },
  query: {
    filter: ['_id', 'url', 'events', 'enabled', 'createdAt', 'updatedAt'],
    sort: ['-createdAt', '-updatedAt'],
  },
  routes: { create: { unstored: ['secret'], errors: ['TOO_MANY_SUBSCRIPTIONS'] } },
});
