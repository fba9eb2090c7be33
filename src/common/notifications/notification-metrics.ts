import { Injectable } from '@nestjs/common';
import { Gauge, Counter } from 'prom-client';
import { Metrics } from '../metrics/index.js';
import { DeliveryQueue, type QueueStats, type AttemptOutcome } from './deliveries/delivery-queue.js';

/** How long a scrape waits for the figures. Unit: milliseconds. */
const PATIENCE_MS = 2_500;

const GAUGES: readonly { name: string; help: string; of: (stats: QueueStats) => number }[] = [
  {
    name: 'notifications_deliveries_waiting',
    help: 'Deliveries that wait for their next attempt, whether it is due or planned.',
    of: ({ waiting }) => waiting,
  },
  {
    name: 'notifications_deliveries_in_flight',
    help: 'Deliveries that a worker attempts now.',
    of: ({ inFlight }) => inFlight,
  },
  {
    name: 'notifications_deliveries_dead',
    help: 'Deliveries that were given up, of the last 30 days.',
    of: ({ dead }) => dead,
  },
  {
    name: 'notifications_deliveries_oldest_due_age_seconds',
    help: 'How long the oldest due delivery has been due; 0 if none is.',
    of: ({ oldestDueSeconds }) => oldestDueSeconds,
  },
];

/**
 * Figures of the whole installation's queue, whichever process is asked. If the database does not answer, they
 * are absent and `notifications_queue_up` is 0.
 */
@Injectable()
export class QueueGauges {
  private reading?: Promise<QueueStats | undefined>;

  constructor(
    { registry }: Metrics,
    private readonly queue: DeliveryQueue,
  ) {
    const latest = () => this.latest();
    new Gauge({
      name: 'notifications_queue_up',
      help: 'Whether the queue could be read: 1 or 0.',
      registers: [registry],
      async collect() {
        this.set((await latest()) ? 1 : 0);
      },
    });
    for (const { name, help, of } of GAUGES) {
      new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          const stats = await latest();
          if (stats) this.set(of(stats));
          else this.remove();
        },
      });
    }
  }

  /** The figures; undefined if they are not available in time. All gauges of a scrape share one query. */
  private latest(): Promise<QueueStats | undefined> {
    this.reading ??= this.read();
    return withPatience(this.reading);
  }

  private async read(): Promise<QueueStats | undefined> {
    try {
      return await this.queue.stats();
    } catch {
      return undefined;
    } finally {
      this.reading = undefined;
    }
  }
}

async function withPatience<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  });
  try {
    return await Promise.race([work, end]);
  } finally {
    clearTimeout(timer);
  }
}

/** Counts the work of this process for notifications. */
@Injectable()
export class NotificationCounters {
  private readonly attempts: Counter<'outcome'>;
  private readonly recorded: Counter;
  private readonly swept: Counter;

  constructor({ registry }: Metrics) {
    const registers = [registry];
    this.attempts = new Counter({
      name: 'notifications_delivery_attempts_total',
      help: 'Attempts to deliver a webhook: delivered (2xx), rejected (another status) or unreachable (no answer).',
      labelNames: ['outcome'],
      registers,
    });
    for (const outcome of ['delivered', 'rejected', 'unreachable']) this.attempts.inc({ outcome }, 0);
    this.recorded = new Counter({
      name: 'notifications_events_recorded_total',
      help: 'Events that were recorded, by the request or by the sweep.',
      registers,
    });
    this.swept = new Counter({
      name: 'notifications_events_swept_total',
      help: 'Events that the sweep recorded, because a process ended before it had done so.',
      registers,
    });
  }

  attempted({ status, error }: Pick<AttemptOutcome, 'status' | 'error'>): void {
    if (error === undefined) this.attempts.inc({ outcome: 'delivered' });
    else this.attempts.inc({ outcome: status === undefined ? 'unreachable' : 'rejected' });
  }

  eventsRecorded(count: number): void {
    this.recorded.inc(count);
  }

  eventsSwept(count: number): void {
    this.swept.inc(count);
  }
}
