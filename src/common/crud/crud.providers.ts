import type { Provider, Type } from '@nestjs/common';
import { getModelToken } from '@nestjs/mongoose';
import type { Model } from 'mongoose';
import { Database } from '../database/index.js';
import { EntityEventPublisher } from '../events/index.js';
import type { CrudDefinition } from './crud.definition.js';
import { CrudResource, CrudService } from './crud.service.js';
import { getCrudResourceToken, getCrudServiceToken } from './crud.tokens.js';
import { MongooseStore } from './mongoose.store.js';

/** The providers of one resource: what its service works with, and the service. */
export function createCrudProviders<Entity extends object, Input extends object>(
  definition: CrudDefinition<Entity, Input>,
  service?: Type<CrudService<Entity, Input>>,
): Provider[] {
  const { entity } = definition;
  const resource: Provider = {
    provide: getCrudResourceToken(entity),
    useFactory: (model: Model<Record<string, unknown>>, database: Database, events: EntityEventPublisher) =>
      new CrudResource(definition, new MongooseStore<Entity>(model, database), events),
    inject: [getModelToken(entity.name), Database, EntityEventPublisher],
  };
  if (service) return [resource, service, { provide: getCrudServiceToken(entity), useExisting: service }];
  const generated: Provider = {
    provide: getCrudServiceToken(entity),
    useFactory: (found: CrudResource<Entity, Input>) => new CrudService(found),
    inject: [getCrudResourceToken(entity)],
  };
  return [resource, generated];
}
