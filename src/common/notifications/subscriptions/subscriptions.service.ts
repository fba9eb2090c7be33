import { randomBytes } from 'node:crypto';
import { Injectable, Param } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { ApiProperty } from '@nestjs/swagger';
import { Model, Types } from 'mongoose';
import {
  type Changes,
  type ConditionalOptions,
  CrudAction,
  CrudController,
  CrudService,
  etagOf,
  type Stored,
  type WriteOptions,
} from '../../crud/index.js';
import { CRUD_CONNECTION, Database, FROM_PRIMARY } from '../../database/index.js';
import {
  DuplicateValueError,
  PreconditionFailedError,
  RecordNotFoundError,
  TooManySubscriptionsError,
  ValidationError,
} from '../../errors/index.js';
import { CurrentScope, currentTenant, type TenantScope } from '../../tenancy/index.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { DeliveryView } from '../deliveries/delivery.entity.js';
import { DeliveryQueue } from '../deliveries/delivery-queue.js';
import { EventTypes, TEST_EVENT_TYPE } from '../event-types.js';
import { EventLog } from '../log/event-log.js';
import { WebhookSender } from '../webhooks/webhook-sender.js';
import {
  Subscription,
  type SubscriptionChanges,
  type SubscriptionInput,
  subscriptionsCrud,
} from './subscription.schema.js';

/** Maximum number of subscriptions of a tenant. */
const MAX_SUBSCRIPTIONS = 100;

/** How long a secret still signs after it has been replaced. Unit: milliseconds. */
const OVERLAP_MS = 24 * 60 * 60 * 1_000;

/** Maximum number of replaced secrets to keep, so that the signature header stays short. */
const MAX_PREVIOUS = 10;

type Secrets = Pick<Subscription, 'secret' | 'previousSecrets'> & { readonly __v?: number };

/** The generated verbs, plus the check of targets and the actions on secrets and tests. */
@Injectable()
export class SubscriptionsService extends CrudService.for(subscriptionsCrud) {
  constructor(
    @InjectModel(Subscription.name, CRUD_CONNECTION) private readonly subscriptions: Model<Subscription>,
    private readonly database: Database,
    private readonly deliveries: DeliveriesService,
    private readonly queue: DeliveryQueue,
    private readonly log: EventLog,
    private readonly types: EventTypes,
    private readonly sender: WebhookSender,
  ) {
    super();
  }

  /** Returns the record with its secret, which no other verb does. */
  override async create(
    scope: TenantScope,
    input: SubscriptionInput,
    options?: WriteOptions,
  ): Promise<Stored<Subscription>> {
    await this.check(input);
    const since = await this.log.head();
    const record = await this.inFreeSlot(scope, (slot) =>
      super.create(scope, { ...input, secret: newSecret(), slot, since }, options),
    );
    // Read rather than remembered: the record of an earlier attempt with the same key has that attempt's secret.
    const { secret } = await this.secretsOf(scope, record._id);
    return { ...record, secret };
  }

  override async update(
    scope: TenantScope,
    id: string | Types.ObjectId,
    changes: Changes<SubscriptionChanges>,
    options?: WriteOptions & ConditionalOptions,
  ): Promise<Stored<Subscription>> {
    await this.check(changes);
    return super.update(scope, id, changes, options);
  }

  /** Also removes its deliveries, since nobody could reach them after the subscription is gone. */
  override async del(
    scope: TenantScope,
    id: string | Types.ObjectId,
    options?: ConditionalOptions,
  ): Promise<Stored<Subscription>> {
    const record = await super.del(scope, id, options);
    this.queue.removeAllOf(record._id);
    return record;
  }

  /** Gives a subscription a new secret. The last ten that were replaced sign for 24 hours. @throws RecordNotFoundError */
  async rotateSecret(scope: TenantScope, id: string): Promise<string> {
    for (;;) {
      const current = await this.secretsOf(scope, id);
      const secret = newSecret();
      const replaced = { secret: current.secret, until: new Date(Date.now() + OVERLAP_MS) };
      const previousSecrets = [replaced, ...(current.previousSecrets ?? [])].slice(0, MAX_PREVIOUS);
      try {
        const set = { secret, previousSecrets };
        await this.change('update', scope, id, { set }, { ifMatch: [etagOf(current)] });
        return secret;
      } catch (error) {
        // Another request was faster.
        if (!(error instanceof PreconditionFailedError)) throw error;
      }
    }
  }

  /** Sends a test event to a subscription and returns its delivery. @throws RecordNotFoundError */
  async test(scope: TenantScope, id: string): Promise<DeliveryView> {
    const { _id: subscription } = await this.get(scope, id);
    const tenant = currentTenant(scope.caller);
    // It can be repeated: the log and the queue know the event by its identifier.
    const send = async (number = new Types.ObjectId()) => {
      const [at, event, type] = [new Date(), `evt_${number.toHexString()}`, TEST_EVENT_TYPE];
      const data = { message: 'This is a test of your webhook.' };
      const body = JSON.stringify({ type, timestamp: at.toISOString(), data });
      // Not a tenant's, which has 24 digits, so that the event is in no stream.
      await this.log.append([{ _id: event, tenant: 'none', type, at, body }]);
      await this.queue.add([{ subscription, tenant, event, type }]);
      return this.deliveries.ofEvent(scope, subscription, event);
    };
    const find = () => Promise.resolve(undefined);
    return scope.context.reservation?.once('tests', { find, insert: send }) ?? send();
  }

  /** Stores a subscription in a free slot of its tenant. @throws TooManySubscriptionsError if there is none */
  private async inFreeSlot<T>(scope: TenantScope, store: (slot: number) => Promise<T>): Promise<T> {
    const tenant = currentTenant(scope.caller);
    for (;;) {
      const taken = new Set(
        await this.database.call(() => this.subscriptions.distinct('slot', { tenant }, { ...FROM_PRIMARY })),
      );
      const free = Array.from({ length: MAX_SUBSCRIPTIONS }, (_, slot) => slot).filter((n) => !taken.has(n));
      const slot = free[Math.floor(Math.random() * free.length)];
      if (slot === undefined) throw new TooManySubscriptionsError(MAX_SUBSCRIPTIONS);
      try {
        return await store(slot);
      } catch (error) {
        // Another request was faster.
        if (!(error instanceof DuplicateValueError)) throw error;
      }
    }
  }

  /** @throws ValidationError if no event has one of the types, or webhooks may not be sent to the URL */
  private async check({ url, events }: Changes<SubscriptionChanges>): Promise<void> {
    const [first, ...others] = (events ?? []).flatMap((type, i) => {
      const detail = this.types.violationOf(type);
      return detail === undefined ? [] : [{ pointer: `/events/${i}`, detail }];
    });
    if (first) throw new ValidationError([first, ...others]);
    const violation = typeof url === 'string' ? await this.sender.violationOf(url) : undefined;
    if (violation !== undefined) throw new ValidationError([{ pointer: '/url', detail: violation }]);
  }

  /** @throws RecordNotFoundError if no subscription of the scope has the id */
  private async secretsOf(scope: TenantScope, id: string | Types.ObjectId): Promise<Secrets> {
    const filter = this.filterOf('update', scope, id);
    const fields = { secret: 1, previousSecrets: 1, __v: 1 };
    const found = await this.database.call(() =>
      this.subscriptions.findOne(filter, fields, { ...FROM_PRIMARY }).lean<Secrets>(),
    );
    if (!found) throw new RecordNotFoundError(Subscription.name);
    return found;
  }
}

/** A new secret, in the form of Standard Webhooks: `whsec_` and base64 of 32 bytes. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** The response to a rotation. When it is repeated with the same `Idempotency-Key`, it has no secret. */
class RotatedSecret {
  @ApiProperty({
    required: false,
    description: 'Shown once, and not to a repetition',
    example: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD0GAMgYVGvUI=',
  })
  secret?: string;
}

export class SubscriptionsController extends CrudController(subscriptionsCrud, SubscriptionsService) {
  @CrudAction(subscriptionsCrud, {
    method: 'POST',
    path: ':id/rotate-secret',
    isolatedAs: 'update',
    status: 200,
    response: RotatedSecret,
    unstored: ['secret'],
    summary: 'Give a subscription a new secret; the old one signs beside it for 24 hours',
    errors: ['RECORD_NOT_FOUND', 'WRITE_CONFLICT'],
  })
  async rotateSecret(@CurrentScope() scope: TenantScope, @Param('id') id: string): Promise<RotatedSecret> {
    return { secret: await this.service.rotateSecret(scope, id) };
  }

  @CrudAction(subscriptionsCrud, {
    method: 'POST',
    path: ':id/test',
    isolatedAs: 'update',
    status: 202,
    response: DeliveryView,
    summary: 'Send a webhook.test event to a subscription',
  })
  test(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.test(scope, id);
  }
}
