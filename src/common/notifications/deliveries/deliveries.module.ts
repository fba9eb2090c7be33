import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { CRUD_CONNECTION, reserveCollection } from '../../database/index.js';
import { DeliveryQueue } from './delivery-queue.js';
import { Delivery, QUEUED_DELIVERY, QueuedDeliverySchema } from './delivery.entity.js';

/** The durable queue. */
@Module({
  imports: [
    MongooseModule.forFeature(
      [
        {
          name: QUEUED_DELIVERY,
          schema: reserveCollection(QueuedDeliverySchema, Delivery),
          collection: 'deliveries',
        },
      ],
      CRUD_CONNECTION,
    ),
  ],
  providers: [DeliveryQueue],
  exports: [DeliveryQueue],
})
export class DeliveriesModule {}
