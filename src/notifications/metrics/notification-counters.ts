import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { Metrics } from '../../common/metrics/index.js';
import type { AttemptOutcome } from '../deliveries/delivery-queue.js';

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
