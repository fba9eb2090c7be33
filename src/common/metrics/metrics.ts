import { Injectable, Module } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';

/** Figures of the process itself: CPU, memory, event loop, garbage collection. */
let ofProcess: Registry | undefined;

/**
 * The figures of one application in the text format of Prometheus. No label contains a tenant or a URL.
 */
@Injectable()
export class Metrics {
  static readonly CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

  /** Registry for the figures of features. */
  readonly registry = new Registry();

  /**
   * How long rendered figures are sent again: rendering takes as long as several pages. Unit: milliseconds.
   *
   * @default 1000
   */
  sharedMs = 1_000;
  private rendered?: { at?: number; readonly text: Promise<string> };

  /** All figures, as they were at most {@link sharedMs} ago. */
  render(): Promise<string> {
    const { at = Infinity, text } = this.rendered ?? {};
    if (text && performance.now() - at < this.sharedMs) return text;
    const rendered: { at?: number; text: Promise<string> } = { text: this.renderNow() };
    rendered.text.then(
      () => (rendered.at = performance.now()),
      () => (rendered.at = -Infinity),
    );
    this.rendered = rendered;
    return rendered.text;
  }

  private async renderNow(): Promise<string> {
    return (await this.registry.metrics()) + (await this.ofProcess().metrics());
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

/** Makes the application's figures injectable. */
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}

/** Name, meaning and buckets of a {@link Tally}. */
interface TallyOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds of the buckets, ascending. */
  readonly buckets: readonly number[];
  readonly registry: Registry;
}

/** Bucket bounds for durations, somewhat beyond the maximum time for an answer. Unit: seconds. */
export const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

/** The values of one set of labels. An observation allocates nothing and looks up no label. */
export class TallyChild {
  /** Observations by bucket; the last entry counts those above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(
    readonly labels: Readonly<Record<string, string>>,
    private readonly buckets: readonly number[],
  ) {
    this.counts = new Array<number>(buckets.length + 1).fill(0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.buckets.length && value > (this.buckets[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += value;
  }
}

/** One sample, as a registry of prom-client reads it. */
interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * A histogram for events that happen with every request. With prom-client's own, each observation creates an
 * object and a text of its labels; here the caller keeps the child for its labels.
 */
export class Tally {
  readonly name: string;
  private readonly children: TallyChild[] = [];

  constructor(private readonly options: TallyOptions) {
    this.name = options.name;
    // A registry only needs a metric's name and values.
    options.registry.registerMetric(this as never);
  }

  /** Makes the child for a new set of labels. */
  child(labels: Readonly<Record<string, string>> = {}): TallyChild {
    const child = new TallyChild(labels, this.options.buckets);
    this.children.push(child);
    return child;
  }

  /** The current values; called by the registry. */
  get(): Promise<object> {
    const { name, help } = this.options;
    const values = this.children.flatMap((child) => this.samplesOf(child));
    return Promise.resolve({ name, help, type: 'histogram', values });
  }

  private samplesOf({ labels, counts, sum }: TallyChild): Sample[] {
    const { name, buckets } = this.options;
    let count = 0;
    const samples: Sample[] = counts.map((own, i) => {
      count += own;
      return { metricName: `${name}_bucket`, labels: { ...labels, le: buckets[i] ?? '+Inf' }, value: count };
    });
    samples.push({ metricName: `${name}_sum`, labels, value: sum });
    samples.push({ metricName: `${name}_count`, labels, value: count });
    return samples;
  }
}
