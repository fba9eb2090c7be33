import type { Type } from '@nestjs/common';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { isGenerated, resourceOf } from '../http/resource-metadata.js';
import type { ItemKind } from '../routes/routes.js';
import { CrudService } from '../service/crud.service.js';
import { hasMiddleware, hasOwnValidators } from '../store/own-code.js';

// The verbs stand in both directions of variance, as in AnyCrudOptions.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyService = CrudService<any, any, any>;

/**
 * Tells whether items of a kind cannot see or influence each other, so that they may run at a time. Code of a feature's own
 * (hooks, overrides, guards, middleware) may look at what the items before it have done.
 */
export function independence(controller: Type<object>, service: AnyService): (kind: ItemKind) => boolean {
  const { definition } = resourceOf(controller);
  const isPlain = isGenerated(controller) && !hasOwnCode(definition);
  return (kind) =>
    isPlain &&
    !hasOwnRoute(definition, kind) &&
    service[kind] === CrudService.prototype[kind] &&
    !meet(kind, definition, service);
}

function hasOwnCode({ hooks, schema }: CrudDefinition): boolean {
  const hasHooks = typeof hooks === 'function' || Object.values(hooks).some((hook) => hook !== undefined);
  return hasHooks || hasMiddleware(schema) || hasOwnValidators(schema);
}

function hasOwnRoute({ routes }: CrudDefinition, kind: ItemKind): boolean {
  const { guards = [], decorators = [] } = routes[kind] ?? {};
  return guards.length > 0 || decorators.length > 0;
}

/** Whether writes to several records meet elsewhere: in a unique index, or in records that refer to each other. */
function meet(kind: ItemKind, definition: CrudDefinition, service: AnyService): boolean {
  // Records of several creates are stored in the order of their turns.
  if (kind === 'create') return false;
  if (kind === 'del') return service['resource'].references.matterOnDelete;
  const { entity, references, schema } = definition;
  const isUnique = schema.indexes().some(([, options]) => options.unique === true);
  return isUnique || references.some(({ to }) => to === entity);
}
