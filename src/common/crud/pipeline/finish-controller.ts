import {
  Controller,
  HttpCode,
  RequestMapping,
  type ScopeOptions,
  type Type,
  UseGuards,
} from '@nestjs/common';
import {
  CONTROLLER_WATERMARK,
  HTTP_CODE_METADATA,
  INTERCEPTORS_METADATA,
  METHOD_METADATA,
  PARAMTYPES_METADATA,
  PATH_METADATA,
  ROUTE_ARGS_METADATA,
  SCOPE_OPTIONS_METADATA,
  SELF_DECLARED_DEPS_METADATA,
} from '@nestjs/common/constants.js';
import { MetadataScanner } from '@nestjs/core';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import { fieldsOf } from '../../fields/index.js';
import { type BatchBody, HasBody, ReadsQuery, TakesQuery } from '../../http/index.js';
import { Unstored } from '../../idempotency/index.js';
import { fieldOfTwoSources } from '../definition/archive.js';
import { checkBodyClass } from '../definition/check-fields.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { createClasses } from '../openapi/create-classes.js';
import { documentRoute, documentSecurity } from '../openapi/document-route.js';
import type { Fail } from '../options/checks.js';
import { type CrudHandler, HANDLERS } from '../options/crud-options.js';
import {
  GENERATED_ROUTES,
  generatedRoutesOf,
  handlerOf,
  hasGenerated,
  isBatch,
  isolationOfHandler,
  offers,
  type Route,
  Shape,
} from '../routes/routes.js';
import { ownRoutesOf } from './crud-action.decorator.js';
import { CrudInterceptor } from './crud.interceptor.js';
import { hasRoutes, metadataOf, originOf, storeRoutes } from './plan.js';
import { InheritedGuard, inheritsGuards } from './route-guards.js';

type Methods = Record<string, unknown>;

/** Gives every route of a controller its path, status, guards and documentation, whether generated, overridden or your own. */
export function finishController(controller: Type<object>, definition: CrudDefinition, fail: Fail): void {
  if (hasRoutes(controller)) return;
  checkController(controller, definition, fail);
  const own = ownRoutesOf(controller);
  const foreign = own.find(({ resource }) => resource !== definition.options);
  if (foreign)
    fail(
      `${controller.name}.${foreign.route.handler} is a @CrudAction of other options. Pass it the same options.`,
    );
  const replaced = new Set(own.map(({ route }) => route.handler));
  const generated = generatedRoutesOf(definition)
    .filter(({ handler }) => !replaced.has(handlerOf(handler)))
    .map((route) => ({ ...route, isUncustomised: isUncustomised(controller, route, definition) }));
  const routes = [...generated, ...own.map(({ route }) => route)];
  checkRoutes(controller, routes, fail);
  for (const { handler, body } of routes) if (body === 'query') repeatList(controller, handler, fail);
  storeRoutes(controller, definition, routes);
  const classes = createClasses(definition);
  // Found before the generator's own decorators are on the methods.
  const inheriting = new Set(routes.filter((route) => inheritsGuards(controller, route)));
  for (const declared of routes) {
    // An override may set another status with @HttpCode.
    const method = (controller.prototype as Methods)[declared.handler] as object;
    const status = Reflect.getMetadata(HTTP_CODE_METADATA, method) as number | undefined;
    const route = { ...declared, status: status ?? declared.status };
    const said = [definition.routes[handlerOf(route.handler)] ?? {}, route];
    const guards = said.flatMap((one) => one.guards ?? []);
    const decorators = said.flatMap((one) => one.decorators ?? []);
    decorate(controller, route.handler, decorators);
    inherit(controller, route.handler, [
      RequestMapping({ method: route.method, path: route.path }),
      HttpCode(route.status),
      route.reads && route.body !== 'query'
        ? ReadsQuery()
        : TakesQuery(...(route.query ? fieldsOf(route.query) : []).map(({ name }) => name)),
      RouteConfig({
        isStrict: route.consumes === undefined,
        ...(isBatch(route) && { batchBody: route.body as BatchBody }),
        ...(route.kind === 'list' && { compressed: true }),
      }),
      ...(isBatch(route) ? [HasBody(route.body as BatchBody)] : []),
      ...(route.consumes === undefined ? [] : [HasBody({ consumes: route.consumes })]),
      ...(route.unstored ? [Unstored(...route.unstored)] : []),
      ...(inheriting.has(declared) ? [UseGuards(InheritedGuard)] : []),
      ...(guards.length > 0 ? [UseGuards(...guards)] : []),
      ...documentRoute(route, metadataOf(controller), classes),
    ]);
  }
  isolateOthers(controller, definition, fail);
  if (!Reflect.hasOwnMetadata('swagger/apiUseTags', controller)) ApiTags(definition.tag)(controller);
  // Nest reads all this from the class itself. What its own @Controller() says besides is kept.
  if (!Reflect.hasOwnMetadata(CONTROLLER_WATERMARK, controller)) {
    const scope = Reflect.getOwnMetadata(SCOPE_OPTIONS_METADATA, controller) as ScopeOptions | undefined;
    Controller({ ...scope })(controller);
  }
  Reflect.defineMetadata(PATH_METADATA, definition.path, controller);
}

/** Whether a method is the generated one, without decorators and interceptors of your own. */
function isUncustomised(controller: Type<object>, { handler }: Route, { routes }: CrudDefinition): boolean {
  const method = (controller.prototype as Methods)[handler];
  const { decorators = [] } = routes[handler as CrudHandler] ?? {};
  if (!originOf(controller).methods?.has(method) || decorators.length > 0) return false;
  return [controller, method as object].every((target) => {
    const interceptors = Reflect.getMetadata(INTERCEPTORS_METADATA, target) as unknown[] | undefined;
    return (interceptors ?? []).every((one) => one === CrudInterceptor);
  });
}

/** Rejects classes without validation, and two routes with the same method and path: Nest would use the first, or fail to start. */
function checkRoutes(controller: Type<object>, routes: readonly Route[], fail: Fail): void {
  routes.forEach(({ handler, method, path, body, headers, query }, i) => {
    const at = `${controller.name}.${handler}`;
    const classes = { body: body instanceof Shape ? body.type : body, query, headers };
    for (const [name, type] of Object.entries(classes))
      if (typeof type === 'function') checkBodyClass(type, `the ${name} of ${at}`, fail);
    const other = routes.slice(0, i).find((one) => one.method === method && one.path === path);
    if (other)
      fail(
        `${at} has the method and path of "${other.handler}". Override that method, disable its action, or choose another path.`,
      );
  });
}

function checkController(controller: Type<object>, definition: CrudDefinition, fail: Fail): void {
  const { name } = controller;
  checkConstructor(controller, fail);
  const path = Reflect.getOwnMetadata(PATH_METADATA, controller) as unknown;
  if (Reflect.hasOwnMetadata(CONTROLLER_WATERMARK, controller) && path !== '/' && path !== definition.path)
    fail(
      `${name} has @Controller(${JSON.stringify(path)}). Write the path as the option path, or leave it out.`,
    );
  for (const handler of HANDLERS) {
    const method = (controller.prototype as Methods)[handler];
    const disabled = offers(definition, handler) && !hasGenerated(definition, handler);
    if (!disabled || typeof method !== 'function' || Reflect.hasMetadata(PATH_METADATA, method)) continue;
    if (ownRoutesOf(controller).some(({ route }) => route.handler === handler)) continue;
    fail(
      `${name}.${handler} has no route, since disable names "${GENERATED_ROUTES[handler].action}". Remove that, or decorate the method with @CrudAction.`,
    );
  }
}

/** @throws Error through `fail` if Nest cannot know what to inject into the constructor of a class */
export function checkConstructor(type: Type<object>, fail: Fail): void {
  const known = [PARAMTYPES_METADATA, SELF_DECLARED_DEPS_METADATA].some((key) =>
    Reflect.hasOwnMetadata(key, type),
  );
  if (known) return;
  if (type.length > 0)
    fail(
      `${type.name} has a constructor, but no decorator that tells Nest what to inject. Add @Injectable() to it.`,
    );
  // A class without a constructor has that of the class it extends.
  const base = Object.getPrototypeOf(type) as Type<object>;
  if (base !== Function.prototype) checkConstructor(base, fail);
}

/** Applies decorators to a method unless its own decorators already set the same metadata; lists are combined. */
function inherit(controller: Type<object>, name: string, decorators: readonly MethodDecorator[]): void {
  const method = ownMethod(controller, name);
  const scratch: TypedPropertyDescriptor<never> = { value: function scratch() {} as never };
  for (const decorator of decorators) decorator({}, name, scratch);
  const source = scratch.value as unknown as object;
  for (const key of Reflect.getOwnMetadataKeys(source)) {
    const given = Reflect.getOwnMetadata(key, source) as unknown;
    Reflect.defineMetadata(key, merged(given, Reflect.getMetadata(key, method) as unknown), method);
  }
}

/** The method of the class itself. In place of an inherited one, a proxy of it, which has metadata of its own. */
function ownMethod(controller: Type<object>, name: string): object {
  const prototype = controller.prototype as Methods;
  const method = prototype[name] as object;
  if (!Object.hasOwn(prototype, name)) Object.defineProperty(prototype, name, repeated(method));
  return prototype[name] as object;
}

/** A method that does the same, with the same metadata, which can be changed by itself. */
function repeated(method: object, takes = (_key: unknown) => true): PropertyDescriptor {
  const value = new Proxy(method, {});
  for (const key of Reflect.getMetadataKeys(method).filter(takes))
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), value);
  return { value, writable: true, configurable: true };
}

/** Makes a handler that is the list by another name, with all decorators that are on the list. */
function repeatList(controller: Type<object>, name: string, fail: Fail): void {
  const prototype = controller.prototype as Methods;
  if (name in prototype)
    fail(`${controller.name} has a method "${name}", which is that of a route. Rename it.`);
  const isShared = (key: unknown) =>
    key !== PATH_METADATA && key !== METHOD_METADATA && !String(key).startsWith('swagger/');
  Object.defineProperty(prototype, name, repeated(prototype.list as object, isShared));
  const types = Reflect.getMetadata(PARAMTYPES_METADATA, prototype, 'list') as unknown;
  Reflect.defineMetadata(PARAMTYPES_METADATA, types, prototype, name);
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, 'list') as unknown;
  Reflect.defineMetadata(ROUTE_ARGS_METADATA, parameters, controller, name);
}

function merged(given: unknown, own: unknown): unknown {
  if (own === undefined) return given;
  if (Array.isArray(given) && Array.isArray(own)) return [...(given as unknown[]), ...(own as unknown[])];
  const areObjects = [given, own].every((value) => typeof value === 'object' && value !== null);
  return areObjects ? { ...(given as object), ...(own as object) } : own;
}

/** Applies decorators that may replace the method. */
function decorate(controller: Type<object>, name: string, decorators: readonly MethodDecorator[]): void {
  const prototype = controller.prototype as object;
  for (const decorator of decorators) {
    ownMethod(controller, name);
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as TypedPropertyDescriptor<never>;
    Object.defineProperty(prototype, name, decorator(prototype, name, descriptor) ?? descriptor);
  }
}

/** Scopes routes of plain Nest decorators by every field of the resource; each field must have exactly one source. */
function isolateOthers(controller: Type<object>, definition: CrudDefinition, fail: Fail): void {
  const { routes } = metadataOf(controller);
  const methods = controller.prototype as Methods;
  const handlers = new MetadataScanner()
    .getAllMethodNames(methods)
    .filter((name) => !routes.has(name) && Reflect.hasMetadata(PATH_METADATA, methods[name] as object));
  for (const handler of handlers) {
    const ambiguous = ambiguousField(definition);
    if (ambiguous !== undefined && !offers(definition, handler))
      fail(
        `${controller.name}.${handler} could be isolated by several sources of "${ambiguous}". Decorate it with @CrudAction and isolatedAs.`,
      );
    const isolation = isolationOfHandler(metadataOf(controller), handler);
    inherit(controller, handler, documentSecurity(definition, isolation));
  }
}

function ambiguousField({ isolation, parent }: CrudDefinition): string | undefined {
  const sets = Object.values(isolation).map((fields) => {
    const others = Object.entries(fields).filter(([field]) => field !== parent?.field);
    return Object.fromEntries(others.map(([field, source]) => [field, source.inner ?? source]));
  });
  return fieldOfTwoSources(sets);
}
