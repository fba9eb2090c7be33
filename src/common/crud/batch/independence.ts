import type { Type } from '@nestjs/common';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { isGenerated, resourceOf } from '../http/resource-metadata.js';
import type { ItemKind } from '../routes/routes.js';
import { CrudService } from '../service/crud.service.js';
import { hasMiddleware, hasOwnValidators } from '../store/own-code.js';

// The verbs are both co- and contravariant, as in AnyCrudOptions.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyService = CrudService<any, any, any>;

/**
 * Tells whether items of a kind cannot see or influence each other, so that they may run concurrently. Your
 * own code (hooks, overrides, guards, middleware) may depend on what earlier items have done.
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

/**
 * Whether writes to different records can conflict: through a unique index, or through references between
 * them.
 */
function meet(kind: ItemKind, definition: CrudDefinition, service: AnyService): boolean {
  // Concurrent creates are stored in the order of their turns.
  if (kind === 'create') return false;
  if (kind === 'del') return service['resource'].references.matterOnDelete;
  const { entity, references, schema } = definition;
  const isUnique = schema.indexes().some(([, options]) => options.unique === true);
  return isUnique || references.some(({ to }) => to === entity);
}
