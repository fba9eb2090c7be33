import type { ExecutionContext, Type } from '@nestjs/common';
import type { IsolationFields } from './isolation-source.js';

/** Metadata key under which a controller keeps its resolver. */
export const ISOLATION = 'tenancy:isolation';

/** Says which fields scope a handler, by the name of its method and the controller that has it. */
export type IsolationResolver = (handler: string, controller: Type<object>) => IsolationFields;

interface Isolation {
  readonly handler: string;
  readonly fields: IsolationFields;
}

const known = new WeakMap<object, Map<unknown, Isolation>>();

/**
 * The fields that scope the handler of a request.
 *
 * @throws Error if the controller is not `@Isolated`, so that nothing runs unscoped
 */
export function isolationOf(context: ExecutionContext): IsolationFields {
  return resolve(context).fields;
}

/** Name of the method that handles a request; a decorator may have replaced the function, so its own name says nothing. */
export function handlerName(context: ExecutionContext): string {
  return resolve(context).handler;
}

function resolve(context: ExecutionContext): Isolation {
  const [controller, method] = [context.getClass(), context.getHandler()];
  const ofController = known.get(controller) ?? new Map<unknown, Isolation>();
  known.set(controller, ofController);
  const found = ofController.get(method);
  if (found) return found;
  const resolver = Reflect.getMetadata(ISOLATION, controller) as IsolationResolver | undefined;
  if (!resolver) throw new Error(`${controller.name} is not @Isolated.`);
  const handler = nameOnPrototype(controller, method);
  const isolation = { handler, fields: resolver(handler, controller) };
  ofController.set(method, isolation);
  return isolation;
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
