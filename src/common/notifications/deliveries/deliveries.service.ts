import { ConflictException, Injectable, Param } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { Types } from 'mongoose';
import { CrudAction, CrudController, crudOptions, CrudService } from '../../crud/index.js';
import { RecordNotFoundError } from '../../errors/index.js';
import { CurrentScope, currentTenant, scopeOf, type TenantScope } from '../../tenancy/index.js';
import { Subscription } from '../subscriptions/subscription.schema.js';
import { DeliveryQueue } from './delivery-queue.js';
import { DeliveredEvent, Delivery, DeliveryView } from './delivery.entity.js';

/** The deliveries of a subscription. Their tenant may read them; only the queue writes them. */
export const deliveriesCrud = crudOptions({
  entity: Delivery,
  input: DeliveredEvent,
  output: DeliveryView,
  name: 'deliveries',
  path: 'subscriptions/:subscriptionId/deliveries',
  tag: 'Notifications',
  parent: { entity: Subscription, param: 'subscriptionId', field: 'subscription' },
  disable: ['create', 'update', 'del'],
  isolationFields: { all: { tenant: currentTenant } },
  query: { filter: ['_id', 'event', 'type', 'status'] },
});

/** The generated reads of deliveries, and the actions that their tenant may take. */
@Injectable()
export class DeliveriesService extends CrudService.for(deliveriesCrud) {
  constructor(private readonly queue: DeliveryQueue) {
    super();
  }

  /**
   * Makes a delivery due again.
   *
   * @throws RecordNotFoundError if the subscription of the scope has no such delivery
   * @throws ConflictException if it is already delivered, or being attempted
   */
  async retry(scope: TenantScope, id: string): Promise<void> {
    const { _id, subscription, status } = await this.get(scope, id);
    if (await this.queue.retry(subscription, _id)) return;
    throw new ConflictException(
      status === 'delivered'
        ? 'The delivery has succeeded. Send a test event to try the target.'
        : 'The delivery is being attempted right now. Look at it again when the attempt is over.',
    );
  }

  /**
   * The delivery of an event to a subscription of the scope's tenant, as clients see it.
   *
   * @throws RecordNotFoundError if there is none, or the subscription was deleted
   */
  async ofEvent(scope: TenantScope, subscription: Types.ObjectId, event: string): Promise<DeliveryView> {
    const below = scopeOf({ tenant: scope.caller.tenant, subscription });
    await this.requireParent('get', below);
    const found = await this.store.findOne({ event, ...this.filterOf('get', below) });
    if (!found) throw new RecordNotFoundError(Delivery.name);
    return this.present(scope, found) as unknown as DeliveryView;
  }
}

/** The response to a retry. */
class QueuedResult {
  @ApiProperty({ enum: [true], type: Boolean })
  queued!: true;
}

export class DeliveriesController extends CrudController(deliveriesCrud, DeliveriesService) {
  @CrudAction(deliveriesCrud, {
    method: 'POST',
    path: ':id/retry',
    isolatedAs: 'update',
    status: 202,
    response: QueuedResult,
    summary: 'Attempt a delivery again, now',
    errors: ['RECORD_NOT_FOUND', 409],
  })
  async retry(@CurrentScope() scope: TenantScope, @Param('id') id: string): Promise<QueuedResult> {
    await this.service.retry(scope, id);
    return { queued: true };
  }
}
