import { type DynamicModule, Module } from '@nestjs/common';
import { MongooseModule } from '@nestjs/mongoose';
import { CrudModule } from '../crud/index.js';
import { CRUD_CONNECTION } from '../database/index.js';
import { MetricsModule } from '../metrics/index.js';
import { deliveriesCrud, DeliveriesController, DeliveriesService } from './deliveries/deliveries.service.js';
import { DELIVERY_MODEL, DeliveryQueue } from './deliveries/delivery-queue.js';
import { EventTypes } from './event-types.js';
import { EVENT_MODEL, EventLog } from './log/event-log.js';
import { EventRecorder } from './log/event-recorder.js';
import { CURSOR_MODEL, FanOut } from './log/fan-out.js';
import { NotificationMetrics } from './notification-metrics.js';
import { EventStreams, type StreamOptions } from './stream/event-streams.js';
import { EventsController } from './stream/events.controller.js';
import { Receivers } from './subscriptions/receivers.js';
import { SUBSCRIPTION_SLOTS, subscriptionsCrud } from './subscriptions/subscription.schema.js';
import { SubscriptionsController, SubscriptionsService } from './subscriptions/subscriptions.service.js';
import type { TargetPolicy } from './webhooks/targets.js';
import { type SenderOptions, WebhookSender } from './webhooks/webhook-sender.js';
import { DeliveryWorker } from './worker/delivery-worker.js';

/** The notification work of a process. */
export interface NotificationsOptions {
  /** Whether this process sends webhooks; otherwise another process has to. @default true */
  readonly worker?: boolean;
  /** Where webhooks may go. @default https URLs of public addresses */
  readonly targets?: Partial<TargetPolicy>;
  /** How webhooks are sent. @default to the addresses of the DNS, trusting the authorities of Node */
  readonly sender?: SenderOptions;
  /** Limits of the live stream. @default those of {@link StreamOptions} */
  readonly stream?: Partial<StreamOptions>;
}

/** The log of events and the queue of deliveries, which everything else works with. */
@Module({
  imports: [
    MongooseModule.forFeature(
      [EVENT_MODEL, DELIVERY_MODEL, CURSOR_MODEL, SUBSCRIPTION_SLOTS],
      CRUD_CONNECTION,
    ),
  ],
  providers: [DeliveryQueue, EventLog, Receivers],
  exports: [DeliveryQueue, EventLog, Receivers, MongooseModule],
})
export class QueueModule {}

/**
 * Tells subscribers of the writes of every resource with `events`: subscriptions and their deliveries, the webhooks,
 * and the live stream. Import it once, beside `CrudModule.forRoot`.
 */
@Module({})
export class NotificationsModule {
  static forRoot({ worker = true, sender, stream, ...given }: NotificationsOptions = {}): DynamicModule {
    const targets = { allowPrivate: false, httpsOnly: true, ...given.targets };
    const deliveries = CrudModule.forFeature(deliveriesCrud, {
      controller: DeliveriesController,
      service: DeliveriesService,
      imports: [QueueModule],
    });
    const webhooks = { provide: WebhookSender, useFactory: () => new WebhookSender(targets, sender) };
    const subscriptions = CrudModule.forFeature(subscriptionsCrud, {
      controller: SubscriptionsController,
      service: SubscriptionsService,
      providers: [EventTypes, webhooks],
      imports: [deliveries, QueueModule],
    });
    return {
      module: NotificationsModule,
      imports: [MetricsModule, QueueModule, deliveries, subscriptions],
      controllers: [EventsController],
      providers: [
        ...[EventRecorder, EventTypes, FanOut, NotificationMetrics],
        {
          provide: EventStreams,
          inject: [EventLog],
          useFactory: (log: EventLog) => new EventStreams(log, stream),
        },
        ...(worker ? [webhooks, DeliveryWorker] : []),
      ],
    };
  }
}
