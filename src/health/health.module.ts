import { Module } from '@nestjs/common';
import { MetricsModule } from '../common/metrics/index.js';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';
import { ShutdownState } from './shutdown-state.js';

@Module({
  imports: [MetricsModule],
  controllers: [HealthController, MetricsController],
  providers: [ShutdownState],
  exports: [ShutdownState],
})
export class HealthModule {}
