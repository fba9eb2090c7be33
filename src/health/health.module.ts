import { type DynamicModule, Module } from '@nestjs/common';
import { MetricsModule } from '../common/metrics/index.js';
import { HealthController } from './health.controller.js';
import { type MetricsAccess, metricsRoute } from './metrics.controller.js';
import { ShutdownState } from './shutdown-state.js';

/** What an orchestrator and Prometheus ask a process. */
@Module({})
export class HealthModule {
  static forRoot(access: MetricsAccess): DynamicModule {
    const { controllers, providers } = metricsRoute(access);
    return {
      module: HealthModule,
      imports: [MetricsModule],
      controllers: [HealthController, ...controllers],
      providers: [ShutdownState, ...providers],
      exports: [ShutdownState],
    };
  }
}
