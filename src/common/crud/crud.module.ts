import { Controller, type DynamicModule, Module, type ModuleMetadata, type Type } from '@nestjs/common';
import { CONTROLLER_WATERMARK } from '@nestjs/common/constants.js';
import { MongooseModule } from '@nestjs/mongoose';
import { CRUD_DEFINITION, CrudController } from './crud.controller.js';
import { type CrudDefinition, defineCrud } from './crud.definition.js';
import type { CrudOptions } from './crud-options.interface.js';
import { createCrudProviders } from './crud.providers.js';
import type { CrudService } from './crud.service.js';
import { getCrudResourceToken, getCrudServiceToken } from './crud.tokens.js';
import { inheritHandlers } from './inherit-handlers.js';

/** Classes of the feature's own that take the place of the generated ones. */
export interface CrudOverrides<Entity extends object, Input extends object> {
  /** A class that extends `CrudController(options)`, made from the same options. @default the generated controller */
  controller?: Type<object>;
  /** A class that extends `CrudService`. @default the generated service */
  service?: Type<CrudService<Entity, Input>>;
  /** Modules whose providers those classes inject. */
  imports?: ModuleMetadata['imports'];
}

/** Makes resources: a controller, a service, validation, documentation, isolation, hooks and events of an entity. */
@Module({})
export class CrudModule {
  /**
   * Makes the module of one resource. Importing modules can inject its service by `getCrudServiceToken(Entity)`.
   *
   * @throws Error that says the fix, where the options or overrides cannot make a resource
   */
  static forFeature<Entity extends object, Input extends object>(
    options: CrudOptions<Entity, Input>,
    overrides: CrudOverrides<Entity, Input> = {},
  ): DynamicModule {
    const definition = defineCrud(options);
    const { entity, schema, name } = definition;
    const providers = createCrudProviders(definition, overrides.service);
    return {
      module: namedModule(entity.name),
      imports: [
        MongooseModule.forFeature([{ name: entity.name, schema, collection: name }]),
        ...(overrides.imports ?? []),
      ],
      controllers: [controllerOf(definition, options, overrides.controller)],
      providers,
      exports: [
        getCrudServiceToken(entity),
        getCrudResourceToken(entity),
        ...[overrides.service ?? []].flat(),
      ],
    };
  }
}

function controllerOf<Entity extends object, Input extends object>(
  definition: CrudDefinition<Entity, Input>,
  options: CrudOptions<Entity, Input>,
  own: Type<object> | undefined,
): Type<object> {
  if (!own) return CrudController(options);
  if (!Reflect.hasMetadata(CONTROLLER_WATERMARK, Object.getPrototypeOf(own) as object)) {
    throw new Error(
      `CrudModule.forFeature(${definition.label}): ${own.name} does not extend the generated controller. ` +
        `Write: class ${own.name} extends CrudController(options).`,
    );
  }
  if (Reflect.getMetadata(CRUD_DEFINITION, own) !== definition) {
    throw new Error(
      `CrudModule.forFeature(${definition.label}): ${own.name} extends a controller of other options. ` +
        `Write: class ${own.name} extends CrudController(options), with the same options.`,
    );
  }
  inheritHandlers(own);
  // Nest reads a controller's path and prefix from the class itself.
  if (!Reflect.hasOwnMetadata(CONTROLLER_WATERMARK, own)) Controller(definition.path)(own);
  return own;
}

/** A module class of its own for each resource, so that each shows under its name in Nest's module graph. */
function namedModule(entity: string): Type<object> {
  class ResourceModule {}
  Object.defineProperty(ResourceModule, 'name', { value: `${entity}CrudModule` });
  return ResourceModule;
}
