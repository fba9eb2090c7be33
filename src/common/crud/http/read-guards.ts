import type { Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { TenantGuard } from '../../tenancy/index.js';

/**
 * Whether a controller has guards of its own, on the class or the method, that decide who may read a record.
 */
export function isReadGuarded(controller: Type<object>): boolean {
  const { get } = controller.prototype as { get?: object };
  return [controller, get].some(
    (guarded) => guarded && guardsOf(guarded).some((guard) => guard !== TenantGuard),
  );
}

function guardsOf(guarded: object): readonly unknown[] {
  return (Reflect.getMetadata(GUARDS_METADATA, guarded) ?? []) as readonly unknown[];
}
