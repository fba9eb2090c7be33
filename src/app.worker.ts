import { setTimeout as pause } from 'node:timers/promises';
import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { featuresOf } from './app.module.js';
import { CrudModule } from './common/crud/index.js';
import { Database, type DatabaseServer } from './common/database/index.js';
import { HealthController, HealthModule, ShutdownState } from './common/health/index.js';
import { Metrics } from './common/metrics/index.js';
import { onSignal } from './common/server/index.js';
import type { Environment } from './config/index.js';
import { type MetricsAccess, metricsControllers } from './metrics/metrics.controller.js';

/** The table of contents of a worker: the features of the service, without routes. */
@Module({})
export class WorkerModule {
  static forRoot(environment: Environment, database: DatabaseServer): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        // Nobody can send a token to a worker.
        CrudModule.forRoot({ database, hookWarnMs: environment.hookWarnMs }),
        HealthModule,
        ...featuresOf(environment, { worker: true }),
      ],
    };
  }
}

/** The routes of a worker's own port, which report on the worker that runs beside them. */
@Module({})
export class WorkerPortModule {
  static forRoot(worker: INestApplicationContext, access: MetricsAccess): DynamicModule {
    return {
      module: WorkerPortModule,
      controllers: [HealthController, ...metricsControllers(access)],
      providers: [
        // Not the whole Database, which Nest would open and close with this application.
        { provide: Database, useValue: reportOf(worker.get(Database, { strict: false })) },
        { provide: ShutdownState, useValue: worker.get(ShutdownState, { strict: false }) },
        { provide: Metrics, useValue: worker.get(Metrics, { strict: false }) },
      ],
    };
  }
}

function reportOf(database: Database): Pick<Database, 'ping' | 'unavailable'> {
  return {
    ping: () => database.ping(),
    get unavailable() {
      return database.unavailable;
    },
  };
}

/** How long a worker may take to end before it is cut off; its claims then become due again. Unit: milliseconds. */
const WORKER_END_MS = 8_000;

/**
 * Shuts a worker down gracefully on SIGTERM or SIGINT: its readiness turns 503, it claims nothing more,
 * stores the outcomes of running attempts, and closes the database. Exits with 0 within ten seconds.
 */
export function shutDownWorkerOnSignal(worker: INestApplicationContext): void {
  onSignal(async () => {
    worker.get(ShutdownState, { strict: false }).begun = true;
    await Promise.race([worker.close(), pause(WORKER_END_MS)]);
  });
}
