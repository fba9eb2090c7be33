import type { DynamicModule } from '@nestjs/common';
import { DatabaseModule } from '../../src/common/database/index.js';
import { EventsModule } from '../../src/common/events/index.js';
import { TenancyModule } from '../../src/common/tenancy/index.js';
import { ConfigModule, type Environment } from '../../src/config/index.js';
import { createTestApp, type TestApp } from './test-app.js';

class ResourceTestModule {}

/** Starts a service that has the given resources alone. */
export function createResourceApp(...resources: DynamicModule[]): Promise<TestApp> {
  return createTestApp({ root: (environment) => resourceRoot(environment, resources) });
}

function resourceRoot(environment: Environment, resources: DynamicModule[]): DynamicModule {
  return {
    module: ResourceTestModule,
    imports: [
      ConfigModule.forRoot(environment),
      DatabaseModule.forRoot({ uri: environment.mongodbUri ?? '' }),
      EventsModule.forRoot({ hookWarnMs: environment.hookWarnMs }),
      TenancyModule.forRoot({ secret: environment.jwtSecret, tenantClaim: environment.jwtTenantClaim }),
      ...resources,
    ],
  };
}
