import { type CanActivate, RequestMethod, type Type } from '@nestjs/common';
import type { ErrorCode } from '../../errors/index.js';
import { fieldsOf } from '../../fields/index.js';
import { ROUTE, requireEntity } from '../options/check-options.js';
import {
  aClass,
  type Check,
  checkMembers,
  defined,
  failIf,
  integer,
  oneOf,
  required,
  rule,
} from '../options/checks.js';
import { ACTIONS, type AnyCrudOptions, type CrudAction as Action } from '../options/crud-options.js';
import { type Route, Shape } from '../routes/routes.js';

/** Your own route on a generated controller. */
export interface CrudActionOptions {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the resource's path, such as `:id/move`. @default the resource's path */
  path?: string;
  /** The action whose scope the route has. A caller who may carry out that action may use the route. */
  isolatedAs: Action;
  /** Guards of the route, which run after isolation. @default none */
  guards?: (Type<CanActivate> | CanActivate)[];
  /** Method decorators of the route, such as `Roles('admin')`. @default none */
  decorators?: MethodDecorator[];
  /**
   * Media type of a body that the platform or your own interceptor reads, such as `multipart/form-data`; a star stands for
   * any. Nothing checks it, but while it is an object with members, verbs take the fields of the input only. Excludes `body`.
   *
   * @default none: bodies are JSON
   */
  consumes?: string;
  /** Class of the body, or `patchOf(Class)` for a merge patch; read as strictly as a generated route's. @default none */
  body?: Type<object> | Shape<'patch'>;
  /**
   * Class of the query parameters, which `@Query()` gives, read as strictly as a body; lists are separated by commas. Or
   * `list` for the query of the generated list, which `@CurrentQuery()` gives.
   *
   * @default none
   */
  query?: Type<object> | 'list';
  /** Class of the headers that the route reads, by their names. `@Headers()` gives their values. @default none */
  headers?: Type<object>;
  /**
   * Class of the response, `listOf(Class)` or `pageOf(Entity)`. One record of the entity comes with its `ETag`: a GET
   * takes `If-None-Match`, and a route isolated as `update` or `del` takes `If-Match`. Or the media type of a
   * `StreamableFile`, such as `application/pdf`, which it gets unless it names another; a star stands for any.
   *
   * @default the entity
   */
  response?: Type<object> | Shape<'list' | 'page'> | string;
  /** @default 200, or 201 for POST */
  status?: number;
  /** Summary in the explorer. @default the method's name, in words */
  summary?: string;
  /**
   * Errors besides those that follow from the path, body and isolation. A number is the status of your own exception.
   *
   * @default RECORD_NOT_FOUND if the path has an id
   */
  errors?: readonly (ErrorCode | number)[];
  /** Members of the response to a POST, such as a secret, that are not stored for its `Idempotency-Key`. @default none */
  unstored?: readonly string[];
}

const OWN_ROUTES = 'crud:routes';

interface OwnRoute {
  readonly resource: object;
  readonly route: Route;
}

/**
 * Makes a method a route of the resource: scoped like one of its actions, strict, documented, with problems for errors.
 * To replace a disabled action, use its method and path.
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
    checkAction(options, resource, `@CrudAction on ${target.constructor.name}.${handler}`);
    const { method, path = '', isolatedAs, query, summary, ...said } = options;
    const hasId = /(^|\/):id(\/|$)/.test(path);
    const route: Route = {
      ...said,
      handler,
      action: isolatedAs,
      method: RequestMethod[method],
      path,
      status: said.status ?? (method === 'POST' ? 201 : 200),
      ...(query === 'list' ? { reads: query } : { query }),
      kind: 'own',
      response: said.response ?? (resource.entity as Type<object>),
      summary: () => summary ?? summaryOf(handler),
      errors: said.errors ?? (hasId ? ['RECORD_NOT_FOUND'] : []),
    };
    const own = ownRoutesOf(target.constructor as Type<object>);
    const others = own.filter((known) => known.route.handler !== handler);
    Reflect.defineMetadata(OWN_ROUTES, [...others, { resource, route }], target.constructor);
  };
}

/** The routes that `@CrudAction` declares on a controller and the classes it extends. */
export function ownRoutesOf(controller: Type<object>): readonly OwnRoute[] {
  return (Reflect.getMetadata(OWN_ROUTES, controller) as OwnRoute[] | undefined) ?? [];
}

const PATH = /^(:?[\w-]+(\/:?[\w-]+)*)?$/;
const MEDIA_RANGE = /^(\*|[\w.+-]+)\/(\*|[\w.+-]+)$/;
const isMediaRange = (value: unknown) => typeof value === 'string' && MEDIA_RANGE.test(value);

/** Accepts a class, or something else. */
const classOr = (accepts: (value: unknown) => boolean, must: string): Check =>
  defined(rule((value) => typeof value === 'function' || accepts(value), must));

/** The kind of a value that is a {@link Shape}. */
const shapeKindOf = (value: unknown) => (value instanceof Shape ? (value.kind as string) : '');

/** The check of every option. */
const CHECKS: { readonly [Name in keyof Required<CrudActionOptions>]: Check } = {
  ...ROUTE,
  method: required(oneOf('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
  path: rule((path) => typeof path === 'string' && PATH.test(path), 'a path, such as ":id/move"'),
  isolatedAs: required(oneOf(...ACTIONS)),
  consumes: rule(isMediaRange, 'a media type, such as "multipart/form-data"'),
  body: classOr((value) => shapeKindOf(value) === 'patch', 'a class, or patchOf(Class)'),
  query: classOr((value) => value === 'list', 'a class, or "list"'),
  headers: aClass,
  response: classOr(
    (value) => ['list', 'page'].includes(shapeKindOf(value)) || isMediaRange(value),
    'a class, listOf(Class), pageOf(Entity), or a media type',
  ),
  status: integer(200, 399),
};

function checkAction(options: CrudActionOptions, { entity }: AnyCrudOptions, where: string): void {
  const fail = (problem: string): never => {
    throw new Error(problem);
  };
  checkMembers(options, where, CHECKS, fail, `${where}: `);
  const { body, consumes, headers, query, response } = options;
  const paged = (
    response instanceof Shape && response.kind === 'page' ? response.type : entity
  ) as Type<object>;
  failIf(fail, `${where}: `, {
    'body is read by the generator, and consumes leaves the body to the platform. Leave one out.':
      body && consumes !== undefined,
    [`response is a page of ${paged.name}. pageOf takes the entity; write listOf for others.`]:
      paged !== entity,
  });
  for (const [name, type] of Object.entries({ query, headers })) {
    const nested = typeof type === 'function' && fieldsOf(type).find(({ kind }) => kind === 'nested');
    if (nested)
      fail(`${where}: the field "${nested.name}" of ${name} is an object, which one text cannot spell.`);
  }
}

/** `moveUp` as "Move up". */
function summaryOf(name: string): string {
  const words = name.replace(/([A-Z])/g, ' $1').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
