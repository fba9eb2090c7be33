import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { UnauthenticatedError } from '../errors/index.js';
import { ISOLATION_FIELDS } from './isolation-fields.key.js';
import { ANONYMOUS, type IsolationFields, type TenantScope } from './tenant-context.js';

/** Applies what the guard decided: computes the fields that scope this request, which the handler hands on. */
@Injectable()
export class TenantInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const fields = this.reflector.get<IsolationFields>(ISOLATION_FIELDS, context.getHandler());
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    request.tenantScope = scopeOf(request.tenantContext ?? ANONYMOUS, fields);
    return next.handle();
  }
}

function scopeOf(caller: TenantScope['caller'], fields: IsolationFields): TenantScope {
  const entries = Object.entries(fields).map(([field, source]) => {
    const value = source(caller);
    // A filter on nothing would match every tenant's records.
    if (value === undefined || value === null) throw new UnauthenticatedError();
    return [field, value] as const;
  });
  return { caller, fields: Object.fromEntries(entries) };
}
