import type { DynamicModule, Type } from '@nestjs/common';
import { DatabaseModule, type DatabaseServer } from '../../src/common/database/index.js';
import { EventsModule } from '../../src/common/events/index.js';
import { TenancyModule } from '../../src/common/tenancy/index.js';
import type { Environment } from '../../src/config/index.js';
import { createTestApp, type TestApp } from './test-app.js';

class ResourceTestModule {}

/** Starts a service that has the given resources, or modules of them, alone. */
export function createResourceApp(...resources: (DynamicModule | Type)[]): Promise<TestApp> {
  return createTestApp({ root: (environment, database) => resourceRoot(environment, database, resources) });
}

/** The root module of a service that has the given resources alone. */
export function resourceRoot(
  environment: Environment,
  database: DatabaseServer,
  resources: (DynamicModule | Type)[],
): DynamicModule {
  return {
    module: ResourceTestModule,
    imports: [
      DatabaseModule.forRoot(database),
      EventsModule.forRoot({ hookWarnMs: environment.hookWarnMs }),
      TenancyModule.forRoot({ secret: environment.jwtSecret, tenantClaim: environment.jwtTenantClaim }),
      ...resources,
    ],
  };
}
