import { type DynamicModule, Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { DeliveriesModule } from './deliveries/deliveries.module.js';
import { EventLog } from './log/event-log.js';
import { EventRecord, EventRecordSchema } from './log/event-record.schema.js';
import { EventRecorder } from './log/event-recorder.js';
import { OutboxSweep } from './log/outbox-sweep.js';
import { Subscribers } from './log/subscribers.js';
import { NotificationMetricsModule } from './metrics/notification-metrics.module.js';
import { NotificationListener } from './notification.listener.js';
import { DeliveryWorker } from './worker/delivery-worker.js';

/** What a process does for notifications. */
export interface NotificationsOptions {
  /** Whether it delivers them; otherwise another process has to. */
  readonly worker: boolean;
}

/** Tells subscribers what happened to records. */
@Module({})
export class NotificationsModule {
  static forRoot({ worker }: NotificationsOptions): DynamicModule {
    return {
      module: NotificationsModule,
      imports: [
        MongooseModule.forFeature([
          { name: EventRecord.name, schema: EventRecordSchema, collection: 'events' },
        ]),
        DeliveriesModule,
        NotificationMetricsModule,
      ],
      providers: [
        EventLog,
        EventRecorder,
        NotificationListener,
        OutboxSweep,
        Subscribers,
        ...(worker ? [DeliveryWorker] : []),
      ],
    };
  }
}
