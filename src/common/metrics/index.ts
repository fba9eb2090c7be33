import { Injectable, Module } from '@nestjs/common';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** Metrics of the process itself: CPU, memory, event loop, garbage collection. */
let ofProcess: Registry | undefined;

/** The metrics of one application in the text format of Prometheus. No label contains a tenant or a URL. */
@Injectable()
export class Metrics {
  static readonly CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

  /** Registry for the metrics of features. */
  readonly registry = new Registry();

  /** How long rendered metrics are sent again. Unit: milliseconds. @default 1000 */
  sharedMs = 1_000;
  private rendered?: { readonly at: number; readonly text: Promise<string> };

  /** All metrics, as they were at most {@link sharedMs} ago. */
  render(): Promise<string> {
    const now = performance.now();
    if (!this.rendered || now - this.rendered.at >= this.sharedMs)
      this.rendered = { at: now, text: this.renderNow() };
    return this.rendered.text;
  }

  private async renderNow(): Promise<string> {
    // Created at the first scrape, since observing takes time that a process without scrapes need not spend.
    if (!ofProcess) collectDefaultMetrics({ register: (ofProcess = new Registry()) });
    return (await this.registry.metrics()) + (await ofProcess.metrics());
  }
}

/** Adds a gauge that is read at each scrape. */
export function addGauge({ registry }: Metrics, name: string, help: string, read: () => number): void {
  const collect = () => gauge.set(read());
  const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect });
}

/** Makes the application's metrics injectable. */
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}

/** Bucket bounds for durations, somewhat beyond the maximum time for a response. Unit: seconds. */
export const DURATION_BUCKETS: number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
