import { applyDecorators, HttpCode, RequestMapping, SetMetadata, UseInterceptors } from '@nestjs/common';
import { TakesQuery } from '../http/index.js';
import { Isolated } from '../tenancy/index.js';
import type { CrudDefinition } from './crud.definition.js';
import { documentRoute } from './crud.documentation.js';
import { CRUD_POLICY, type CrudHandler } from './crud.policy.js';
import { defineCrud } from './crud.definition.js';
import type { CrudOptions } from './crud-options.interface.js';
import { CRUD_ROUTE, CrudInterceptor } from './crud.interceptor.js';

/** What a hand-written handler says about itself where it differs from the generated one. */
export interface CrudRouteOptions {
  /** Line in the explorer. @default the policy's */
  summary?: string;
  /** Schema of the success body. @default the policy's */
  response?: Parameters<typeof documentRoute>[2];
  /** Whether the handler answers 404 where no record matches. @default true */
  answersNotFound?: boolean;
}

/**
 * Makes a method the handler of an action: its route, status, isolation, strictness and documentation, all from the
 * policy, so that they cannot drift apart. For a handler that takes the place of a disabled one.
 */
export function CrudRoute<Entity extends object, Input extends object>(
  handler: CrudHandler,
  crud: CrudOptions<Entity, Input>,
  options: CrudRouteOptions = {},
): MethodDecorator {
  return routeOf(handler, defineCrud(crud), options);
}

function routeOf<Entity extends object, Input extends object>(
  handler: CrudHandler,
  definition: CrudDefinition<Entity, Input>,
  options: CrudRouteOptions,
): MethodDecorator {
  const policy = CRUD_POLICY[handler];
  const isolation = definition.isolationFields[policy.action];
  const isolated = Object.keys(isolation).length > 0;
  return applyDecorators(
    RequestMapping({ method: policy.method, path: policy.path }),
    HttpCode(policy.status),
    SetMetadata(CRUD_ROUTE, { handler, definition }),
    TakesQuery(...policy.query),
    ...(isolated ? [Isolated(isolation)] : []),
    UseInterceptors(CrudInterceptor),
    documentRoute(handler, definition, options.response, { isolated, ...options }),
  );
}
