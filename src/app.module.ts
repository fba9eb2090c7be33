import { type DynamicModule, Module } from '@nestjs/common';
import { CrudModule } from './common/crud/index.js';
import type { DatabaseServer } from './common/database/index.js';
import { HealthModule } from './common/health/index.js';
import { MetricsModule } from './common/metrics/index.js';
import { type Environment, rootOptionsOf } from './config/index.js';
import { metricsControllers } from './metrics/metrics.controller.js';
import { NotificationsModule } from './common/notifications/index.js';
import { PostsModule } from './posts/posts.module.js';
import { TodosModule } from './todos/todos.module.js';

/** The table of contents. */
@Module({})
export class AppModule {
  static forRoot(environment: Environment, database: DatabaseServer): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CrudModule.forRoot(rootOptionsOf(environment, database)),
        HealthModule,
        MetricsModule,
        ...featuresOf(environment, { worker: environment.worker === 'inline' }),
      ],
      controllers: metricsControllers(environment),
    };
  }
}

/** The features and their notifications. With `worker`, the process sends webhooks. */
export function featuresOf(environment: Environment, { worker }: { worker: boolean }): DynamicModule[] {
  const targets = {
    allowPrivate: environment.webhookAllowPrivate,
    httpsOnly: environment.nodeEnv === 'production',
  };
  return [
    { module: PostsModule },
    TodosModule.forRoot({ implementation: environment.todosApi }),
    NotificationsModule.forRoot({ worker, targets }),
  ];
}
