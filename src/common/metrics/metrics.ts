import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';

/** Figures of the process itself (CPU, memory, event loop, garbage collection), whatever runs in it. */
let ofProcess: Registry | undefined;

/** The figures of one application, in the text format of Prometheus. No label tells of a tenant or a URL. */
@Injectable()
export class Metrics {
  static readonly CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

  /** A feature names it as the registry of its figures. */
  readonly registry = new Registry();

  /** All figures as of now. */
  async render(): Promise<string> {
    ofProcess ??= observedProcess();
    return (await this.registry.metrics()) + (await ofProcess.metrics());
  }
}

/** Observing starts with the first scrape: it takes time that a process that nobody scrapes need not spend. */
function observedProcess(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}
