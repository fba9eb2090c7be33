import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { reserveCollection } from '../../common/database/index.js';
import { DeliveryQueue } from './delivery-queue.js';
import { Delivery, DeliverySchema, QUEUED_DELIVERY } from './delivery.schema.js';

/** The durable queue. */
@Module({
  imports: [
    MongooseModule.forFeature([
      {
        name: QUEUED_DELIVERY,
        schema: reserveCollection(DeliverySchema, Delivery),
        collection: 'deliveries',
      },
    ]),
  ],
  providers: [DeliveryQueue],
  exports: [DeliveryQueue],
})
export class DeliveriesModule {}
