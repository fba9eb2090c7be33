import cluster from 'node:cluster';
import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { askForFigures, type Figures, tellFigures } from './shared-figures.js';

/** Figures of the process itself (CPU, memory, event loop, garbage collection), whatever runs in it. */
let ofProcess: Registry | undefined;

/**
 * The figures of one application, in the text format of Prometheus; of all processes together where several share a port. No
 * label tells of a tenant or a URL.
 */
@Injectable()
export class Metrics {
  static readonly CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

  /** A feature names it as the registry of its figures. */
  readonly registry = new Registry();

  constructor() {
    if (cluster.isWorker) tellFigures(() => this.figures());
  }

  /** All figures as of now. */
  async render(): Promise<string> {
    const ofAll = cluster.isWorker ? await askForFigures() : undefined;
    return ofAll ?? (await this.registry.metrics()) + (await this.ofProcess().metrics());
  }

  private async figures(): Promise<Figures> {
    return [...(await this.registry.getMetricsAsJSON()), ...(await this.ofProcess().getMetricsAsJSON())];
  }

  /** Observing starts with the first scrape: it takes time that a process that nobody scrapes need not spend. */
  private ofProcess(): Registry {
    if (!ofProcess) {
      ofProcess = new Registry();
      collectDefaultMetrics({ register: ofProcess });
    }
    return ofProcess;
  }
}
