import type { Type } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';

/**
 * Gives every method that overrides a handler, and is no route of its own, the metadata of the handler it overrides:
 * route, guards, interceptors and documentation. Parameters and their pipes are inherited with the constructor.
 */
export function inheritHandlers(controller: Type<object>): void {
  for (const name of Object.getOwnPropertyNames(controller.prototype)) {
    const method: unknown = Reflect.get(controller.prototype, name);
    const overridden: unknown = Reflect.get(Object.getPrototypeOf(controller.prototype) as object, name);
    if (name === 'constructor' || typeof method !== 'function' || typeof overridden !== 'function') continue;
    if (method === overridden || Reflect.hasMetadata(PATH_METADATA, method)) continue;
    for (const key of Reflect.getMetadataKeys(overridden) as string[]) {
      if (!Reflect.hasMetadata(key, method))
        Reflect.defineMetadata(key, Reflect.getMetadata(key, overridden), method);
    }
  }
}
