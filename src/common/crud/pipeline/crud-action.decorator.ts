import { RequestMethod, type Type } from '@nestjs/common';
import { type ErrorCode, isProblem } from '../../errors/index.js';
import { isPlainObject } from '../../fields/index.js';
import { requireEntity } from '../options/check-options.js';
import { unkept } from '../options/checks.js';
import type { AnyCrudOptions, CrudAction as Action } from '../options/crud-options.js';
import { ACTIONS, unknownName } from '../options/option-names.js';
import type { Route } from '../routes/routes.js';

/** Your own route on a generated controller. */
export interface CrudActionOptions {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the resource's path, such as `:id/move`. @default the resource's path */
  path?: string;
  /** The action whose scope the route has. A caller who may carry out that action may use the route. */
  isolatedAs: Action;
  /** Class of the body, validated as strictly as a generated route's. @default none */
  body?: Type<object>;
  /** Names of the query parameters, each an optional string. @default none */
  query?: readonly string[];
  /**
   * Class of the response. If it is the entity, the record is shown as on every other route.
   *
   * @default the entity
   */
  response?: Type<object>;
  /** @default 200, or 201 for POST */
  status?: number;
  /** Summary in the explorer. @default the method's name, in words */
  summary?: string;
  /**
   * Additional errors of the route, besides those that follow from its path, body and isolation. A number is
   * the status of one of your own exceptions.
   *
   * @default RECORD_NOT_FOUND if the path has an id
   */
  errors?: readonly (ErrorCode | number)[];
  /**
   * Members of the response to a POST that are shown only once, such as a secret. They are not stored with
   * the response, and a replayed request with an `Idempotency-Key` does not return them.
   *
   * @default none
   */
  unkept?: readonly string[];
}

const ROUTES = 'crud:routes';
const OPTION_NAMES = 'method path isolatedAs body query response status summary errors unkept'.split(' ');
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

interface OwnRoute {
  readonly resource: object;
  readonly route: Route;
}

/**
 * Makes a method a route of the resource. The route is scoped like one of the resource's actions, validates
 * its body strictly, is documented, and answers errors as problems. To replace a disabled action, use its
 * method and path.
 *
 * ```ts
 * @CrudAction(categories, { method: 'POST', path: ':id/move', body: MoveCategory, isolatedAs: 'update' })
 * move(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() body: MoveCategory) { … }
 * ```
 *
 * @throws Error that names the fix, if an option is wrong
 */
export function CrudAction(resource: AnyCrudOptions, options: CrudActionOptions): MethodDecorator {
  return (target, key) => {
    const handler = String(key);
    requireEntity(resource);
    if (typeof target === 'function')
      throw new Error(`@CrudAction on ${target.name}.${handler}: the method must not be static.`);
    checkAction(options, `@CrudAction on ${target.constructor.name}.${handler}`);
    const { method, path = '', isolatedAs, body, query = [], response, summary } = options;
    const hasId = /(^|\/):id(\/|$)/.test(path);
    const route: Route = {
      handler,
      action: isolatedAs,
      method: RequestMethod[method],
      path,
      status: options.status ?? (method === 'POST' ? 201 : 200),
      body,
      query,
      answer: 'own',
      response: response ?? (resource.entity as Type<object>),
      summary: () => summary ?? sentence(handler),
      errors: options.errors ?? (hasId ? ['RECORD_NOT_FOUND'] : []),
      unkept: options.unkept,
    };
    const own = ownRoutesOf(target.constructor as Type<object>);
    const others = own.filter((known) => known.route.handler !== handler);
    Reflect.defineMetadata(ROUTES, [...others, { resource, route }], target.constructor);
  };
}

/** The routes that `@CrudAction` declares on a controller and the classes it extends. */
export function ownRoutesOf(controller: Type<object>): readonly OwnRoute[] {
  return (Reflect.getMetadata(ROUTES, controller) as OwnRoute[] | undefined) ?? [];
}

function checkAction(options: CrudActionOptions, where: string): void {
  if (!isPlainObject(options))
    throw new Error(`${where}: the options are missing. Pass { method, path, isolatedAs }.`);
  const stray = Object.keys(options).find((name) => !OPTION_NAMES.includes(name));
  if (stray !== undefined) throw new Error(unknownName(where, stray, OPTION_NAMES));
  if (!METHODS.includes(options.method))
    throw new Error(`${where}: method must be one of ${METHODS.join(', ')}.`);
  if (!ACTIONS.includes(options.isolatedAs)) {
    throw new Error(`${where}: isolatedAs must be one of ${ACTIONS.join(', ')}.`);
  }
  const { path = '', status = 200, query = [], errors = [] } = options;
  if (typeof path !== 'string' || !/^(:?[\w-]+(\/:?[\w-]+)*)?$/.test(path)) {
    throw new Error(`${where}: the path ${JSON.stringify(path)} is not a path. Write it like ":id/move".`);
  }
  if (!Number.isInteger(status) || status < 200 || status > 399) {
    throw new Error(`${where}: status must be a whole number from 200 to 399.`);
  }
  if (!Array.isArray(query) || query.some((name) => typeof name !== 'string')) {
    throw new Error(`${where}: query must be a list of names.`);
  }
  if (!Array.isArray(errors) || !errors.every(isProblem)) {
    throw new Error(`${where}: errors must be a list of codes, such as "WRITE_CONFLICT", or of statuses.`);
  }
  unkept(options.unkept, `${where}.unkept`, (problem) => {
    throw new Error(problem);
  });
  for (const name of ['body', 'response'] as const) {
    if (name in options && typeof options[name] !== 'function') {
      throw new Error(`${where}: ${name} must be a class; if it is undefined, break the circle of imports.`);
    }
  }
}

/** `moveUp` as "Move up". */
function sentence(name: string): string {
  const words = name.replace(/([A-Z])/g, ' $1').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
