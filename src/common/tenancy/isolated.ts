import { applyDecorators, SetMetadata, UseGuards, UseInterceptors } from '@nestjs/common';
import { ApiBearerAuth } from '@nestjs/swagger';
import { ISOLATION_FIELDS } from './isolation-fields.key.js';
import type { IsolationFields } from './tenant-context.js';
import { TenantGuard } from './tenant.guard.js';
import { TenantInterceptor } from './tenant.interceptor.js';

/** Requires a tenant's token for a handler and scopes it by the given fields; `@CurrentScope()` reads the result. */
export function Isolated(fields: IsolationFields): MethodDecorator {
  return applyDecorators(
    SetMetadata(ISOLATION_FIELDS, fields),
    UseGuards(TenantGuard),
    UseInterceptors(TenantInterceptor),
    ApiBearerAuth(),
  );
}
