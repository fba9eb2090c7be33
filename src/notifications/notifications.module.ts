import { type DynamicModule, Module } from '@nestjs/common';
import { DeliveriesModule } from './deliveries/deliveries.module.js';
import { EventLogModule } from './log/event-log.module.js';
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
      imports: [EventLogModule, DeliveriesModule, NotificationMetricsModule],
      providers: [
        EventRecorder,
        NotificationListener,
        OutboxSweep,
        Subscribers,
        ...(worker ? [DeliveryWorker] : []),
      ],
    };
  }
}
