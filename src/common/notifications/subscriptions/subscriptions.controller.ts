import { Param } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { CrudAction, CrudController } from '../../crud/index.js';
import { CurrentScope, type TenantScope } from '../../tenancy/index.js';
import { DeliveryView } from '../deliveries/delivery.entity.js';
import { subscriptionsCrud } from './subscriptions.crud.js';
import { SubscriptionsService } from './subscriptions.service.js';

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
    unkept: ['secret'],
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
