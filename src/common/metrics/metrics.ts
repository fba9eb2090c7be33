import cluster from 'node:cluster';
import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { askForFigures, type Figures, tellFigures } from './shared-figures.js';

/** Figures of the process itself: CPU, memory, event loop, garbage collection. */
let ofProcess: Registry | undefined;

/**
 * The figures of one application in the text format of Prometheus, combined if several processes share a
 * port. No label contains a tenant or a URL.
 */
@Injectable()
export class Metrics {
  static readonly CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

  /** Registry for the figures of features. */
  readonly registry = new Registry();

  constructor() {
    if (cluster.isWorker) tellFigures(() => this.figures());
  }

  /** All current figures. */
  async render(): Promise<string> {
    const ofAll = cluster.isWorker ? await askForFigures() : undefined;
    return ofAll ?? (await this.registry.metrics()) + (await this.ofProcess().metrics());
  }

  private async figures(): Promise<Figures> {
    return [...(await this.registry.getMetricsAsJSON()), ...(await this.ofProcess().getMetricsAsJSON())];
  }

  /**
   * Created at the first scrape, since observing takes time that a process without scrapes need not spend.
   */
  private ofProcess(): Registry {
    if (!ofProcess) {
      ofProcess = new Registry();
      collectDefaultMetrics({ register: ofProcess });
    }
    return ofProcess;
  }
}
