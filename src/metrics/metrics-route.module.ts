import { type DynamicModule, Module } from '@nestjs/common';
import { MetricsModule } from '../common/metrics/index.js';
import { type MetricsAccess, metricsRoute } from './metrics.controller.js';

/** The route that Prometheus scrapes. */
@Module({})
export class MetricsRouteModule {
  static forRoot(access: MetricsAccess): DynamicModule {
    return { module: MetricsRouteModule, imports: [MetricsModule], ...metricsRoute(access) };
  }
}
