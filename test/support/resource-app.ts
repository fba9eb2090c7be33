import { type DynamicModule, Module, Optional, type Type } from '@nestjs/common';
import {
  CrudModule,
  type CrudOptions,
  type CrudService,
  getCrudServiceToken,
  Outboxes,
} from '../../src/common/crud/index.js';
import type { Made } from './resource.js';
import { createTestApp, type TestApp, type TestAppOptions, useApp } from './test-app.js';

class ResourceTestModule {}

/** Stands for the notifications, without which resources cannot have events. */
@Module({})
class UndeliveredModule {
  constructor(@Optional() outboxes?: Outboxes) {
    outboxes?.read();
  }
}

type Resource = CrudOptions<Made, Made> | DynamicModule | Type;

/** Starts a service that has the given resources alone. */
export const createResourceApp = (...resources: Resource[]): Promise<TestApp> =>
  createTestApp({ root: rootOf(...resources) });

/** `createResourceApp()` for the tests around. */
export const useResourceApp = (...resources: Resource[]): TestApp =>
  useApp(() => createResourceApp(...resources));

/** The root module of a service that has the given resources alone. */
export function rootOf(...resources: Resource[]): NonNullable<TestAppOptions['root']> {
  return ({ hookWarnMs, jwtSecret: secret, jwtTenantClaim: tenantClaim }, database) => ({
    module: ResourceTestModule,
    imports: [
      CrudModule.forRoot({ database, hookWarnMs, tokens: { secret, tenantClaim } }),
      ...resources.map((one) => ('entity' in one ? CrudModule.forFeature(one) : one)),
      UndeliveredModule,
    ],
  });
}

/** The service of a resource, of the type that the test knows it to have. */
export const serviceIn = <Service = CrudService<Made, Made>>(app: TestApp, entity: Type): Service =>
  app.app.get<Service>(getCrudServiceToken(entity), { strict: false });
