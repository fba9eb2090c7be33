import { Module } from '@nestjs/common';
import { MetricsModule } from '../../common/metrics/index.js';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { NotificationCounters } from './notification-counters.js';
import { QueueGauges } from './queue-gauges.js';

/** Metrics of notifications; the code that does the work counts it. */
@Module({
  imports: [MetricsModule, DeliveriesModule],
  providers: [NotificationCounters, QueueGauges],
  exports: [NotificationCounters],
})
export class NotificationMetricsModule {}
