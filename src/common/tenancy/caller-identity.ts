import { type ExecutionContext, Injectable } from '@nestjs/common';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';
import type { HttpRequest } from '../platform/index.js';
import { Callers } from './callers.js';
import { carriedIsolationOf, isolationOf } from './isolation-of.js';
import { type IsolationFields, needsToken } from './isolation-source.js';
import { ANONYMOUS, type TenantContext } from './tenant-context.js';
import { TenantScope } from './tenant-scope.js';

/** Distinguishes the callers of one route. */
export interface Identity {
  readonly tenant: string | undefined;
  readonly subject: string | undefined;
  /**
   * Values of the isolation fields of the route, then of the carried requests; null if a value is missing.
   */
  readonly scopes: readonly (Readonly<Record<string, unknown>> | null)[];
}

/** Identifies the caller that a request is made for. */
@Injectable()
export class CallerIdentity {
  constructor(private readonly callers: Callers) {}

  /**
   * For a route that needs no token, all callers are the same, unless a carried request needs one. Each item
   * is then decided separately, and the token, if there is one, identifies the owner of the items.
   */
  async of(context: ExecutionContext): Promise<Identity> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    // A hand-written controller may isolate nothing.
    if (!request.tenantScope) return { tenant: undefined, subject: undefined, scopes: [{}] };
    const carried = carriedIsolationOf(context);
    const caller = carried.some(needsToken) ? await this.senderOf(request) : request.tenantContext;
    const params = request.params as Readonly<Record<string, string>>;
    const scope = TenantScope.ofRequest(caller ?? ANONYMOUS, { params, request });
    const scopes = [isolationOf(context), ...carried].map((fields) => valuesOf(scope, fields));
    return { tenant: caller?.tenant, subject: caller?.subject, scopes };
  }

  private async senderOf(request: HttpRequest): Promise<TenantContext> {
    try {
      return await this.callers.of(request);
    } catch (error) {
      if (error instanceof UnauthenticatedError || error instanceof InvalidTokenError) return ANONYMOUS;
      throw error;
    }
  }
}

/** A caller without a value is rejected by the action that needs it. */
function valuesOf(scope: TenantScope, fields: IsolationFields): Readonly<Record<string, unknown>> | null {
  try {
    return scope.valuesOf(fields);
  } catch {
    return null;
  }
}
