import type { Type } from '@nestjs/common';
import { ApiProblems } from '../../errors/index.js';

/** Documents that a delete may be rejected, which is known only once every resource is. */
export function documentRestriction(controller: Type<object>): void {
  const descriptor = Object.getOwnPropertyDescriptor(controller.prototype, 'del') as
    TypedPropertyDescriptor<never> | undefined;
  const inherited = (controller.prototype as Partial<Record<string, never>>).del;
  const method = descriptor ?? (inherited === undefined ? undefined : { value: inherited });
  if (method) ApiProblems('STILL_REFERENCED')(controller.prototype as object, 'del', method);
}
