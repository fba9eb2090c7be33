import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { Database, DatabaseModule, type DatabaseServer } from './common/database/index.js';
import { EventsModule } from './common/events/index.js';
import { HealthController, HealthModule, ShutdownState } from './common/health/index.js';
import { Metrics } from './common/metrics/index.js';
import { TenancyModule } from './common/tenancy/index.js';
import type { Environment } from './config/index.js';
import { type MetricsAccess, metricsRoute } from './metrics/metrics.controller.js';
import { NotificationsModule } from './notifications/notifications.module.js';
import { PostsModule } from './posts/posts.module.js';

/**
 * The table of contents of a worker: the delivery of notifications, and the resources that they are about.
 * Serves no route.
 */
@Module({})
export class WorkerModule {
  static forRoot(environment: Environment, database: DatabaseServer): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        DatabaseModule.forRoot(database),
        EventsModule.forRoot({ hookWarnMs: environment.hookWarnMs }),
        // Without a key source no token is valid, but nobody can send one to a worker anyway.
        TenancyModule.forRoot({ tenantClaim: environment.jwtTenantClaim }),
        HealthModule,
        PostsModule,
        NotificationsModule.forRoot({
          worker: true,
          targets: {
            allowPrivate: environment.webhookAllowPrivate,
            httpsOnly: environment.nodeEnv === 'production',
          },
        }),
      ],
    };
  }
}

/** The routes of a worker's own port, which report on the worker that runs beside them. */
@Module({})
export class WorkerPortModule {
  static forRoot(worker: INestApplicationContext, access: MetricsAccess): DynamicModule {
    const { controllers, providers } = metricsRoute(access);
    const database = worker.get(Database, { strict: false });
    return {
      module: WorkerPortModule,
      controllers: [HealthController, ...controllers],
      providers: [
        ...providers,
        // Only the ping: Nest would also open and close a whole Database with this application.
        { provide: Database, useValue: { ping: () => database.ping() } satisfies Pick<Database, 'ping'> },
        { provide: ShutdownState, useValue: worker.get(ShutdownState, { strict: false }) },
        { provide: Metrics, useValue: worker.get(Metrics, { strict: false }) },
      ],
    };
  }
}
