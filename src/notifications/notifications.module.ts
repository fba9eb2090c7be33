import { type DynamicModule, Module } from '@nestjs/common';
import { DeliveriesModule } from './deliveries/deliveries.module.js';
import { EventLogModule } from './log/event-log.module.js';
import { EventRecorder } from './log/event-recorder.js';
import { OutboxSweep } from './log/outbox-sweep.js';
import { Subscribers } from './log/subscribers.js';
import { NotificationMetricsModule } from './metrics/notification-metrics.module.js';
import { NotificationListener } from './notification.listener.js';
import { SubscriptionsModule } from './subscriptions/subscriptions.module.js';
import type { TargetCheck } from './subscriptions/target-check.js';
import { targetFault } from './webhooks/targets.js';
import { DeliveryWorker } from './worker/delivery-worker.js';

/** What a process does for notifications. */
export interface NotificationsOptions {
  /** Whether it delivers them; otherwise another process has to. */
  readonly worker: boolean;
  /** Whether webhooks may reach private and loopback addresses. */
  readonly allowPrivateTargets: boolean;
  /** Whether the URLs of webhooks must be https. */
  readonly httpsOnly: boolean;
  /** Decides which URLs can be registered. @default `targetFault` by the options above */
  readonly checkTarget?: TargetCheck;
}

/** Tells subscribers what happened to records. */
@Module({})
export class NotificationsModule {
  static forRoot({
    worker,
    allowPrivateTargets: allowPrivate,
    httpsOnly,
    checkTarget = (url) => targetFault(url, { allowPrivate, httpsOnly }),
  }: NotificationsOptions): DynamicModule {
    return {
      module: NotificationsModule,
      imports: [
        DeliveriesModule,
        EventLogModule,
        NotificationMetricsModule,
        SubscriptionsModule.forRoot({ checkTarget }),
      ],
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
