import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Global,
  type MiddlewareConsumer,
  Module,
  type ModuleMetadata,
  type NestModule,
  type OnModuleInit,
  type Provider,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost, ModuleRef, ModulesContainer } from '@nestjs/core';
import { getModelToken, MongooseModule } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { CRUD_CONNECTION, Database, InstallationKey } from '../database/index.js';
import { EntityEventPublisher } from '../events/index.js';
import { IdempotencyModule } from '../idempotency/index.js';
import type { HttpRequest } from '../request/index.js';
import { AUDIT_MODEL } from './audit/audit-entry.js';
import { AuditTrail } from './audit/audit-trail.js';
import {
  checkedRoot,
  crudRoot,
  type CrudRootAsyncOptions,
  type CrudRootOptions,
  SHARED_MODULES,
} from './crud-root.js';
import { getCrudResourceToken, getCrudServiceToken } from './options/crud.tokens.js';
import { checkRequired } from './definition/check-fields.js';
import type { CrudDefinition } from './definition/crud-definition.js';
import { CrudController } from './pipeline/crud.controller.js';
import { checkConstructor, finishController } from './pipeline/finish-controller.js';
import { hasRoutes, originOf } from './pipeline/plan.js';
import { GetGuards } from './pipeline/route-guards.js';
import { documentRestriction } from './openapi/document-route.js';
import { checkOverrides } from './options/check-options.js';
import { failFor } from './options/checks.js';
import type { CrudOptions } from './options/crud-options.js';
import { readExpressBody } from './platform/express-body.js';
import { handleExpressErrors, ownerOfRoutes } from './platform/express.js';
import { bodyLimitOf, configOf, usePlatform } from './platform/platform.js';
import { SEARCH_CHECKPOINTS, searchable, SearchIndex, searchProvider } from './search/search-index.js';
import { CrudResource, CrudRegistry } from './service/crud-resource.js';
import { CrudService, serviceOptionsOf } from './service/crud.service.js';
import { Crud } from './service/unit-of-work.js';
import { holdingOf } from './service/references.js';
import { CrudStore } from './store/crud.store.js';
import { DELETED_MODEL, Outbox, Outboxes, withOutbox } from './store/outbox.js';

/** Your own classes of a resource, and what they inject. */
export interface CrudOverrides {
  /** A class that extends `CrudController(options)`. @default the generated controller */
  controller?: Type<object>;
  /** A class that extends `CrudService.for(options)`. @default the generated service */
  service?: Type<object>;
  /** Providers that these classes, the hooks and the guards inject. */
  providers?: Provider[];
  /** Modules whose exported providers these classes inject. */
  imports?: ModuleMetadata['imports'];
}

/** The registries of an application's resources and outboxes; one instance of each. */
@Global()
@Module({
  imports: SHARED_MODULES,
  providers: [Crud, CrudRegistry, Outboxes],
  exports: [Crud, CrudRegistry, Outboxes],
})
class CrudRegistryModule implements NestModule, OnModuleInit, BeforeApplicationShutdown {
  private close = (): void => undefined;
  private ownerOf?: ReturnType<typeof ownerOfRoutes>;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly moduleRef: ModuleRef,
    private readonly modules: ModulesContainer,
  ) {}

  /** Nest calls this before it registers routes; not in an application without a server, such as a worker. */
  configure(consumer: MiddlewareConsumer): void {
    this.close = usePlatform(this.host.httpAdapter, this.moduleRef);
    const controllers = this.controllers().filter(hasRoutes);
    if (!this.isExpress || controllers.length === 0) return;
    const read: typeof readExpressBody = (request, response, next) =>
      this.isOfResource(request) ? readExpressBody(request, response, next) : next();
    consumer.apply(read).forRoutes(...controllers);
  }

  /** After the routes, and before Nest's own handler of errors. */
  onModuleInit(): void {
    if (!this.isExpress) return;
    handleExpressErrors(this.host.httpAdapter.getInstance(), (request) => this.isOfResource(request));
  }

  beforeApplicationShutdown(): void {
    this.close();
  }

  private get isExpress(): boolean {
    const { httpAdapter } = this.host as Partial<HttpAdapterHost>;
    return httpAdapter?.getType() === 'express';
  }

  private isOfResource(request: HttpRequest): boolean {
    const prefix = configOf(this.moduleRef).getGlobalPrefix();
    this.ownerOf ??= ownerOfRoutes(this.controllers(), prefix);
    const owner = this.ownerOf(request);
    return owner !== undefined && hasRoutes(owner);
  }

  private controllers(): Type<object>[] {
    const all = [...this.modules.values()].flatMap(({ controllers }) => [...controllers.values()]);
    return all.map(({ metatype }) => metatype as Type<object>);
  }
}

/** Makes resources: the controller, service, validation, documentation, isolation, hooks and events of an entity. */
@Module({})
export class CrudModule {
  /**
   * Sets up what all resources of an application share: the database, events, and the verification of tokens.
   * Import it once, in the root module.
   *
   * @throws Error that names the fix, if an option cannot be used
   */
  static forRoot(options: CrudRootOptions): DynamicModule {
    checkedRoot(options, 'forRoot');
    const { connectionName, database } = options;
    const imports = crudRoot({ useFactory: () => options, connectionName }, Boolean(database));
    return { module: CrudModule, imports };
  }

  /**
   * Does the same with options from a factory, for settings that another module reads. An option that cannot be used stops
   * the start with an error that names the fix.
   */
  static forRootAsync({ useFactory, ...root }: CrudRootAsyncOptions): DynamicModule {
    const { connectionName } = root;
    const checked: typeof useFactory = async (...injected: unknown[]) =>
      checkedRoot({ connectionName, ...(await useFactory(...injected)) }, 'forRootAsync');
    return { module: CrudModule, imports: crudRoot({ ...root, useFactory: checked }) };
  }

  /**
   * Makes the module of one resource. Modules that import it can inject its service with `@InjectCrudService(Entity)`.
   *
   * @throws Error that names the fix, if the options or overrides cannot make a resource
   */
  static forFeature<Entity extends object, Create extends object, Update extends object = Create>(
    options: CrudOptions<Entity, Create, Update>,
    overrides: CrudOverrides = {},
  ): DynamicModule {
    const fail = failFor(options);
    checkOverrides(overrides, fail);
    const controller = overrides.controller ?? CrudController(options);
    const { definition, service: expected } = originOf(controller);
    if (definition?.options !== options)
      return fail(sameOptions(controller, 'controller', 'CrudController(options)'));
    finishController(controller, definition, fail);
    const { service, providers = [], imports = [] } = overrides;
    if (service && serviceOptionsOf(service) !== options)
      return fail(sameOptions(service, 'service', 'CrudService.for(options)'));
    const { prototype } = service ?? CrudService;
    // A controller calls the methods of the service it was made with; the generated service does not have them.
    if (expected && prototype !== expected.prototype && !(prototype instanceof expected))
      return fail(
        `${controller.name} uses ${expected.name}, which is not the service of the resource. Pass { service: ${expected.name} } beside the controller.`,
      );
    if (!service && !overrides.controller) checkRequired(definition);
    const { audit, entity, events, schema, name, hooks, query } = definition;
    const injecting = [service, hooks].filter((type) => typeof type === 'function');
    for (const type of injecting) checkConstructor(type, fail);
    const models = [
      {
        name: entity.name,
        schema: withOutbox(searchable(schema, query.search), definition),
        collection: name,
      },
      ...(query.search ? [SEARCH_CHECKPOINTS] : []),
      ...(audit ? [AUDIT_MODEL] : []),
      ...(events ? [DELETED_MODEL] : []),
    ];
    return {
      module: moduleOf(entity),
      imports: [
        CrudRegistryModule,
        IdempotencyModule,
        MongooseModule.forFeature(models, CRUD_CONNECTION),
        ...imports,
      ],
      controllers: [controller],
      providers: [
        ...providers,
        // ExternalContextCreator finds a module by the class of a controller, and in it what guards inject.
        { provide: controller, useValue: undefined },
        ...injecting,
        resourceProvider(definition, controller),
        ...(audit ? [auditProvider(definition)] : []),
        ...(query.search ? [searchProvider(entity, query.search)] : []),
        service
          ? { provide: getCrudServiceToken(entity), useExisting: service }
          : { provide: getCrudServiceToken(entity), useClass: CrudService.for(definition.options) },
      ],
      exports: [getCrudServiceToken(entity), getCrudResourceToken(entity), ...(service ? [service] : [])],
    };
  }
}

/** A class that extends one of other options would serve another resource. */
function sameOptions({ name }: Type<object>, what: string, base: string): string {
  return `${name} does not extend the generated ${what} of these options. Write: class ${name} extends ${base}, with the same options.`;
}

function resourceProvider(definition: CrudDefinition, controller: Type<object>): Provider {
  const { entity } = definition;
  return {
    provide: getCrudResourceToken(entity),
    useFactory: (
      model: Model<Record<string, unknown>>,
      database: Database,
      events: EntityEventPublisher,
      registry: CrudRegistry,
      key: InstallationKey,
      crud: Crud,
      outboxes: Outboxes,
      host: HttpAdapterHost,
      audit: AuditTrail | undefined,
      search: SearchIndex | undefined,
      moduleRef: ModuleRef,
    ) => {
      const outbox = definition.events && new Outbox(model, database, definition, definition.events);
      const resource = new CrudResource(definition, {
        store: new CrudStore<object>(
          model,
          database,
          definition.query.search,
          registry.referralOf(entity),
          holdingOf(definition, registry),
          outbox,
        ),
        registry,
        moduleRef,
        events,
        key,
        guards: new GetGuards(controller),
        bodyLimit: () => bodyLimitOf(host),
        requireIndexes: database.indexesOf(definition.name),
        crud,
        audit,
        search,
        onRestricted: () => {
          if (!definition.archive) documentRestriction(controller);
        },
      });
      if (outbox) outboxes.add(outbox);
      registry.add(resource);
      return resource;
    },
    inject: [
      getModelToken(entity.name, CRUD_CONNECTION),
      Database,
      EntityEventPublisher,
      CrudRegistry,
      InstallationKey,
      Crud,
      Outboxes,
      HttpAdapterHost,
      { token: AuditTrail, optional: true },
      { token: SearchIndex, optional: true },
      ModuleRef,
    ],
  };
}

/** The audit trail is private to the resource's own module. */
function auditProvider({ name, audit = { keptDays: 0 } }: CrudDefinition): Provider {
  return {
    provide: AuditTrail,
    useFactory: (model: Model<Record<string, unknown>>, database: Database) =>
      new AuditTrail(model, database, { resource: name, ...audit }),
    inject: [getModelToken(AUDIT_MODEL.name, CRUD_CONNECTION), Database],
  };
}

/** Makes a module class per resource, so that each appears under its own name in Nest's module graph. */
function moduleOf(entity: Type<object>): Type<object> {
  class ResourceModule {}
  Object.defineProperty(ResourceModule, 'name', { value: `${entity.name}CrudModule` });
  return ResourceModule;
}
