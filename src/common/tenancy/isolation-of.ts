import type { ExecutionContext, Type } from '@nestjs/common';
import { queryOf } from '../http/index.js';
import type { HttpRequest } from '../platform/index.js';
import type { IsolationFields } from './isolation-source.js';

/** Metadata key of a controller's resolver. */
export const ISOLATION = 'tenancy:isolation';

/** Metadata key of the resolver for the requests that a controller's handlers carry. */
export const CARRIED_ISOLATION = 'tenancy:carried-isolation';

/** Query parameters of a request, as sent. */
export type RequestQuery = Readonly<Record<string, unknown>>;

/**
 * Returns the fields that scope a request, by the name of its handler, the controller of the handler, and the
 * query, which may ask for more than everybody sees.
 */
export type IsolationResolver = (
  handler: string,
  controller: Type<object>,
  query: RequestQuery,
) => IsolationFields;

/** Returns the fields that scope each kind of request that a handler carries. */
export type CarriedIsolationResolver = (
  handler: string,
  controller: Type<object>,
) => readonly IsolationFields[];

const names = new WeakMap<object, Map<unknown, string>>();

/**
 * The fields that scope a request.
 *
 * @throws Error if the controller is not `@Isolated`, so that nothing runs unscoped
 */
export function isolationOf(context: ExecutionContext): IsolationFields {
  const controller = context.getClass();
  const resolver = Reflect.getMetadata(ISOLATION, controller) as IsolationResolver | undefined;
  if (!resolver) throw new Error(`${controller.name} is not @Isolated.`);
  const query = queryOf(context.switchToHttp().getRequest<HttpRequest>());
  return resolver(handlerName(context), controller, query);
}

/** The fields that scope each kind of request that this one carries; empty if it carries none. */
export function carriedIsolationOf(context: ExecutionContext): readonly IsolationFields[] {
  const controller = context.getClass();
  const resolver = Reflect.getMetadata(CARRIED_ISOLATION, controller) as CarriedIsolationResolver | undefined;
  return resolver?.(handlerName(context), controller) ?? [];
}

/**
 * Name of the method that handles a request. The function's own name may differ, since a decorator may have
 * replaced it.
 */
export function handlerName(context: ExecutionContext): string {
  const [controller, method] = [context.getClass(), context.getHandler()];
  const ofController = names.get(controller) ?? new Map<unknown, string>();
  names.set(controller, ofController);
  const name = ofController.get(method) ?? nameOnPrototype(controller, method);
  ofController.set(method, name);
  return name;
}

function nameOnPrototype(type: Type, method: unknown): string {
  let prototype = type.prototype as object | null;
  for (; prototype; prototype = Object.getPrototypeOf(prototype) as object | null) {
    const found = Object.entries(Object.getOwnPropertyDescriptors(prototype)).find(
      ([, descriptor]) => descriptor.value === method,
    );
    if (found) return found[0];
  }
  throw new Error(`${type.name} has no method for the handler of this request.`);
}
