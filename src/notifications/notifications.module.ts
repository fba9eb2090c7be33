import { Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { DeliveryQueue } from './deliveries/delivery-queue.js';
import { EventLog } from './log/event-log.js';
import { EventRecord, EventRecordSchema } from './log/event-record.schema.js';
import { EventRecorder } from './log/event-recorder.js';
import { OutboxSweep } from './log/outbox-sweep.js';
import { Subscribers } from './log/subscribers.js';
import { NotificationListener } from './notification.listener.js';

/** Tells subscribers what happened to records. */
@Module({
  imports: [
    MongooseModule.forFeature([{ name: EventRecord.name, schema: EventRecordSchema, collection: 'events' }]),
  ],
  providers: [DeliveryQueue, EventLog, EventRecorder, NotificationListener, OutboxSweep, Subscribers],
})
export class NotificationsModule {}
