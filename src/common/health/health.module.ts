import { Module } from '@nestjs/common';
import { HealthController } from './health.controller.js';
import { ShutdownState } from './shutdown-state.js';

/**
 * Answers the probes of an orchestrator. `GET /health/live` always succeeds; `GET /health/ready` succeeds
 * while the database can be reached and the process has not been told to stop.
 */
@Module({ controllers: [HealthController], providers: [ShutdownState], exports: [ShutdownState] })
export class HealthModule {}
