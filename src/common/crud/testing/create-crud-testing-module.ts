import type { DynamicModule, Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { CrudModule, type CrudOverrides } from '../crud.module.js';
import { getCrudServiceToken } from '../options/crud.tokens.js';
import type { CrudOptions } from '../options/crud-options.js';
import type { CrudService } from '../service/crud.service.js';
import { Outboxes } from '../store/outbox.js';

/** The overrides of a resource under test, and the resources that it refers to. */
export interface CrudTestingOptions<Service> extends Omit<CrudOverrides, 'service'> {
  /** Your own service class, which becomes the type of `service` in the result. @default the generated service */
  service?: Type<Service>;
  /** Resources that the tested one refers to or has as its parent. @default none */
  others?: DynamicModule[];
}

/** A resource without HTTP, on an in-memory database. */
export interface CrudTestingModule<Service> {
  /** The resource's service. Its verbs take `scopeOf({ tenant })`. */
  readonly service: Service;
  /** Nest's module, to get other providers from. */
  readonly module: TestingModule;
  /** Closes the module and its database. */
  close(): Promise<void>;
}

/**
 * Starts one resource on an in-memory database, for tests of its service and hooks:
 *
 * ```ts
 * const { service, close } = await createCrudTestingModule(notes, { service: NotesService });
 * const note = await service.create(scopeOf({ tenant }), { text: 'Buy stamps' });
 * ```
 */
export async function createCrudTestingModule<
  Entity extends object,
  Create extends object,
  Update extends object = Create,
  Service extends CrudService<Entity, Create, Update> = CrudService<Entity, Create, Update>,
>(
  options: CrudOptions<Entity, Create, Update>,
  { others = [], ...overrides }: CrudTestingOptions<Service> = {},
): Promise<CrudTestingModule<Service>> {
  const module = await Test.createTestingModule({
    imports: [
      CrudModule.forRoot({ database: { memory: true }, hookWarnMs: 1_000 }),
      ...others,
      CrudModule.forFeature(options, overrides),
    ],
  }).compile();
  // Nobody delivers events here.
  module.get(Outboxes, { strict: false }).read();
  await module.init();
  return {
    service: module.get<Service>(getCrudServiceToken(options.entity), { strict: false }),
    module,
    close: () => module.close(),
  };
}
