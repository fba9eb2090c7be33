import { type DynamicModule, Module } from '@nestjs/common';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { NotificationMetricsModule } from '../metrics/notification-metrics.module.js';
import type { TargetPolicy } from '../webhooks/targets.js';
import { type SenderOptions, WebhookSender } from '../webhooks/webhook-sender.js';
import { DeliveryWorker } from './delivery-worker.js';
import { Receivers } from './receivers.js';

/** A worker that makes deliveries while the process runs. */
@Module({})
export class DeliveryWorkerModule {
  static forRoot(policy: TargetPolicy, options?: SenderOptions): DynamicModule {
    return {
      module: DeliveryWorkerModule,
      imports: [DeliveriesModule, NotificationMetricsModule],
      providers: [
        { provide: WebhookSender, useFactory: () => new WebhookSender(policy, options) },
        Receivers,
        DeliveryWorker,
      ],
      exports: [DeliveryWorker],
    };
  }
}
