import { Param } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { CrudAction, CrudController } from '../../crud/index.js';
import { CurrentScope, type TenantScope } from '../../tenancy/index.js';
import { deliveriesCrud, DeliveriesService } from './deliveries.service.js';

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
