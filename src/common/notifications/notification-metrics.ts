import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { singleFlight } from '../database/index.js';
import { Metrics } from '../metrics/index.js';
import { DeliveryQueue } from './deliveries/delivery-queue.js';

type QueueStats = Awaited<ReturnType<DeliveryQueue['stats']>>;

/** What each gauge tells, by its name and the metric that it shows; absent while the database does not answer. */
const GAUGES: readonly (readonly [name: string, metric: keyof QueueStats, help: string])[] = [
  ['waiting', 'waiting', 'Deliveries that wait for their next attempt, whether it is due or planned.'],
  ['in_flight', 'inFlight', 'Deliveries that a worker attempts now.'],
  ['dead', 'dead', 'Deliveries that were given up, of the last 30 days.'],
  [
    'oldest_due_age_seconds',
    'oldestDueSeconds',
    'How long the oldest due delivery has been due; 0 if none is.',
  ],
];

/** Counts the work of this process for notifications, and shows the queue of the whole installation. */
@Injectable()
export class NotificationMetrics {
  readonly recorded: Counter;
  readonly swept: Counter;
  private readonly attempts: Counter<'outcome'>;

  constructor({ registry }: Metrics, queue: DeliveryQueue) {
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name: `notifications_${name}_total`, help, labelNames, registers: [registry] });
    this.attempts = counter(
      'delivery_attempts',
      'Attempts to deliver a webhook: delivered (2xx), rejected (another status) or unreachable (no answer).',
      'outcome',
    );
    for (const outcome of ['delivered', 'rejected', 'unreachable']) this.attempts.inc({ outcome }, 0);
    this.recorded = counter('events_recorded', 'Events that were recorded, by the request or by the sweep.');
    this.swept = counter(
      'events_swept',
      'Events that the sweep recorded, because a process ended before it had done so.',
    );
    // The gauges of a scrape share one query.
    const reading = singleFlight<QueueStats>();
    for (const [name, metric, help] of GAUGES) {
      new Gauge({
        name: `notifications_deliveries_${name}`,
        help,
        registers: [registry],
        async collect() {
          const stats = await reading.add(() => queue.stats()).catch(() => undefined);
          if (stats) this.set(stats[metric]);
          else this.remove();
        },
      });
    }
  }

  attempted({ status, error }: { readonly status?: number; readonly error?: string }): void {
    const failure = status === undefined ? 'unreachable' : 'rejected';
    this.attempts.inc({ outcome: error === undefined ? 'delivered' : failure });
  }
}
