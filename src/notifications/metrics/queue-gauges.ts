import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Metrics } from '../../common/metrics/index.js';
import { DeliveryQueue, type QueueStats } from '../deliveries/delivery-queue.js';

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
