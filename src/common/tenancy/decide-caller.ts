import type { FastifyRequest } from 'fastify';
import type { Callers } from './callers.js';
import { type IsolationFields, needsToken } from './isolation-source.js';
import { ANONYMOUS } from './tenant-context.js';
import { TenantScope } from './tenant-scope.js';

/**
 * Decides who calls, for an action with these isolation fields: somebody with a token if one of them asks for it.
 *
 * @throws UnauthenticatedError, InvalidTokenError without a token that verifies
 */
export async function decideCaller(
  request: FastifyRequest,
  fields: IsolationFields,
  callers: Callers,
): Promise<void> {
  request.tenantContext = needsToken(fields) ? await callers.of(request) : ANONYMOUS;
}

/**
 * Makes the scope of a request whose caller is decided.
 *
 * @throws UnauthenticatedError, TenantRequiredError or ClaimRequiredError if the caller lacks a value of one of the fields
 */
export function applyScope(request: FastifyRequest, fields: IsolationFields): TenantScope {
  // Without a guard before it nobody has decided who calls.
  if (!request.tenantContext) throw new Error('The TenantGuard did not run before the TenantInterceptor.');
  const params = request.params as Readonly<Record<string, string>>;
  const scope = TenantScope.ofRequest(request.tenantContext, { params, request });
  scope.valuesOf(fields);
  request.tenantScope = scope;
  return scope;
}
