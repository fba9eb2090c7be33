import { type DynamicModule, Module, Optional, type Type } from '@nestjs/common';
import { CrudModule, Outboxes } from '../../src/common/crud/index.js';
import type { DatabaseServer } from '../../src/common/database/index.js';
import type { Environment } from '../../src/config/index.js';
import { createTestApp, type TestApp, useApp } from './test-app.js';

class ResourceTestModule {}

/** Stands for the notifications, without which resources cannot have events. */
@Module({})
class UndeliveredModule {
  constructor(@Optional() outboxes?: Outboxes) {
    outboxes?.read();
  }
}

/** Starts a service that has the given resources, or modules of them, alone. */
export function createResourceApp(...resources: (DynamicModule | Type)[]): Promise<TestApp> {
  return createTestApp({ root: (environment, database) => resourceRoot(environment, database, resources) });
}

/** `createResourceApp()` for the tests around. */
export const useResourceApp = (...resources: (DynamicModule | Type)[]): TestApp =>
  useApp(() => createResourceApp(...resources));

/** The root module of a service that has the given resources alone. */
export function resourceRoot(
  environment: Environment,
  database: DatabaseServer,
  resources: (DynamicModule | Type)[],
): DynamicModule {
  return {
    module: ResourceTestModule,
    imports: [
      CrudModule.forRoot({
        database,
        hookWarnMs: environment.hookWarnMs,
        tokens: { secret: environment.jwtSecret, tenantClaim: environment.jwtTenantClaim },
      }),
      ...resources,
      UndeliveredModule,
    ],
  };
}
