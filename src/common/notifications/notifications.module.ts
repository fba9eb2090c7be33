import { type DynamicModule, Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { CRUD_CONNECTION, reserveCollection } from '../database/index.js';
import { DeliveriesModule } from './deliveries/deliveries.module.js';
import { Cursors, DeliveryCursor, DeliveryCursorSchema } from './log/cursors.js';
import { EventLogModule } from './log/event-log.js';
import { EventRecorder } from './log/event-recorder.js';
import { FanOut } from './log/fan-out.js';
import { OutboxSweep } from './log/outbox-sweep.js';
import { NotificationMetricsModule } from './metrics/notification-metrics.js';
import { NotificationListener } from './notification.listener.js';
import { SubscriptionsModule } from './subscriptions/subscriptions.module.js';
import type { TargetCheck } from './subscriptions/subscriptions.service.js';
import { targetFault, type TargetPolicy } from './webhooks/targets.js';
import { DeliveryWorkerModule } from './worker/delivery-worker.js';

/** The notification work of a process. */
export interface NotificationsOptions {
  /** Whether this process delivers them; otherwise another process has to. */
  readonly worker: boolean;
  /** Where webhooks may go. */
  readonly targets: TargetPolicy;
  /** Decides which URLs can be registered. @default `targetFault` by the policy above */
  readonly checkTarget?: TargetCheck;
}

/** Notifies subscribers of changes to records. */
@Module({})
export class NotificationsModule {
  static forRoot({
    worker,
    targets,
    checkTarget = (url) => targetFault(url, targets),
  }: NotificationsOptions): DynamicModule {
    return {
      module: NotificationsModule,
      imports: [
        DeliveriesModule,
        EventLogModule,
        NotificationMetricsModule,
        SubscriptionsModule.forRoot({ checkTarget }),
        MongooseModule.forFeature(
          [
            {
              name: DeliveryCursor.name,
              schema: reserveCollection(DeliveryCursorSchema),
              collection: 'delivery_cursors',
            },
          ],
          CRUD_CONNECTION,
        ),
        ...(worker ? [DeliveryWorkerModule.forRoot(targets)] : []),
      ],
      providers: [Cursors, EventRecorder, FanOut, NotificationListener, OutboxSweep],
    };
  }
}
