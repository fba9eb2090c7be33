import { type DynamicModule, Module, Optional, type Type } from '@nestjs/common';
import {
  CrudModule,
  type CrudOptions,
  type CrudService,
  getCrudServiceToken,
  Outboxes,
} from '../../src/common/crud/index.js';
import type { DatabaseServer } from '../../src/common/database/index.js';
import type { Environment } from '../../src/config/index.js';
import type { Made } from './resource.js';
import { createTestApp, type TestApp, useApp } from './test-app.js';

class ResourceTestModule {}

/** Stands for the notifications, without which resources cannot have events. */
@Module({})
class UndeliveredModule {
  constructor(@Optional() outboxes?: Outboxes) {
    outboxes?.read();
  }
}

/** The options of a resource, or a module. */
type Resource = CrudOptions<Made, Made> | DynamicModule | Type;

/** Starts a service that has the given resources alone. */
export function createResourceApp(...resources: Resource[]): Promise<TestApp> {
  return createTestApp({ root: (environment, database) => resourceRoot(environment, database, resources) });
}

/** `createResourceApp()` for the tests around. */
export const useResourceApp = (...resources: Resource[]): TestApp =>
  useApp(() => createResourceApp(...resources));

/** The root module of a service that has the given resources alone. */
export function resourceRoot(
  environment: Environment,
  database: DatabaseServer,
  resources: Resource[],
): DynamicModule {
  return {
    module: ResourceTestModule,
    imports: [
      CrudModule.forRoot({
        database,
        hookWarnMs: environment.hookWarnMs,
        tokens: { secret: environment.jwtSecret, tenantClaim: environment.jwtTenantClaim },
      }),
      ...resources.map((one) => ('entity' in one ? CrudModule.forFeature(one) : one)),
      UndeliveredModule,
    ],
  };
}

/** The service of a resource, of the type that the test knows it to have. */
export const serviceIn = <Service = CrudService<Made, Made>>(app: TestApp, entity: Type): Service =>
  app.app.get<Service>(getCrudServiceToken(entity), { strict: false });
