import type { Type } from '@nestjs/common';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { Route } from '../routes/routes.js';
import type { HttpRequest, HttpResponse } from '../../platform/index.js';

const DEFINITION = 'crud:definition';
const ROUTES = 'crud:route-table';
const SERVICE = 'crud:controller-service';

/** Metadata of a resource's controller. */
export interface ResourceMetadata {
  readonly definition: CrudDefinition;
  /** The controller's routes, by method name. */
  readonly routes: ReadonlyMap<string, Route>;
}

/** Stores the definition that a generated controller was made from; its subclasses inherit it. */
export function keepDefinition(controller: Type<object>, definition: CrudDefinition): void {
  Reflect.defineMetadata(DEFINITION, definition, controller);
}

/** The definition of a controller, or of the generated controller that it extends. */
export function definitionOf(controller: Type<object>): CrudDefinition | undefined {
  return Reflect.getMetadata(DEFINITION, controller) as CrudDefinition | undefined;
}

/** Stores the service class that a generated controller was made with; its subclasses inherit it. */
export function keepService(controller: Type<object>, service: Type<object>): void {
  Reflect.defineMetadata(SERVICE, service, controller);
}

/** The service class that a controller was made with; undefined for the generated service. */
export function serviceOf(controller: Type<object>): Type<object> | undefined {
  return Reflect.getMetadata(SERVICE, controller) as Type<object> | undefined;
}

/** Whether a controller is the generated one itself. */
export function isGenerated(controller: Type<object>): boolean {
  return Reflect.hasOwnMetadata(DEFINITION, controller);
}

/** Stores the whole route table of one controller. */
export function keepRoutes(controller: Type<object>, routes: readonly Route[]): void {
  Reflect.defineMetadata(ROUTES, new Map(routes.map((route) => [route.handler, route])), controller);
}

/** Whether a controller has its route table, which `forFeature` gives it. */
export function hasRoutes(controller: Type<object>): boolean {
  return Reflect.hasOwnMetadata(ROUTES, controller);
}

/** @throws Error if the controller was not passed to `CrudModule.forFeature` */
export function resourceOf(controller: Type<object>): ResourceMetadata {
  const definition = definitionOf(controller);
  const routes = Reflect.getOwnMetadata(ROUTES, controller) as ReadonlyMap<string, Route> | undefined;
  if (definition && routes) return { definition, routes };
  throw new Error(
    `${controller.name} is no controller of a resource. Pass it to CrudModule.forFeature(options, { controller }).`,
  );
}

/** Path of a route, without what the application puts before all of them. */
export function pathOfRoute(controller: Type<object>, { path }: Pick<Route, 'path'>): string {
  const parts = [definitionOf(controller)?.path ?? '', path].flatMap((part) => part.split('/'));
  return `/${parts.filter((part) => part !== '').join('/')}`;
}

/** The methods of all generated controllers. */
const generatedMethods = new WeakSet<object>();

/** Remembers the methods of a generated controller. */
export function keepGenerated(methods: Iterable<object>): void {
  for (const method of methods) generatedMethods.add(method);
}

/** Whether a method of a controller is the generated one, rather than an override of it. */
export function isGeneratedMethod(method: unknown): boolean {
  return typeof method === 'function' && generatedMethods.has(method);
}

/** A request to a route of a resource. */
export interface ResourceRequest {
  readonly request: HttpRequest;
  readonly reply: HttpResponse;
  readonly definition: CrudDefinition;
  /** Undefined for a route of plain Nest decorators. */
  readonly route: Route | undefined;
}
