import type { FastifyRequest } from 'fastify';
import type { Callers } from './callers.js';
import { type IsolationFields, needsToken } from './isolation-source.js';
import { ANONYMOUS } from './tenant-context.js';
import { TenantScope } from './tenant-scope.js';

/**
 * Decides who is calling. If one of the action's isolation fields needs a token, the caller must have one.
 *
 * @throws UnauthenticatedError, InvalidTokenError without a valid token
 */
export async function decideCaller(
  request: FastifyRequest,
  fields: IsolationFields,
  callers: Callers,
): Promise<void> {
  request.tenantContext = needsToken(fields) ? await callers.of(request) : ANONYMOUS;
}

/**
 * Makes the scope of a request whose caller has been decided.
 *
 * @throws UnauthenticatedError, TenantRequiredError or ClaimRequiredError if the caller lacks a value of one of the fields
 */
export function applyScope(request: FastifyRequest, fields: IsolationFields): TenantScope {
  // Without the guard, nobody has decided who is calling.
  if (!request.tenantContext) throw new Error('The TenantGuard did not run before the TenantInterceptor.');
  const params = request.params as Readonly<Record<string, string>>;
  const scope = TenantScope.ofRequest(request.tenantContext, { params, request });
  scope.valuesOf(fields);
  request.tenantScope = scope;
  return scope;
}
