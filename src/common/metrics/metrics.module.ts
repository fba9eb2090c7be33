import { Module } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** Makes the application's figures injectable. */
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
