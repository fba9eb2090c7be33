import { Module } from '@nestjs/common';
import { DeliveryQueue } from './delivery-queue.js';

/** The durable queue. */
@Module({ providers: [DeliveryQueue], exports: [DeliveryQueue] })
export class DeliveriesModule {}
