import type { TenantScope } from '../../tenancy/index.js';

/** The request that a write belongs to. */
export interface AuditOrigin {
  readonly requestId: string;
  readonly address: string;
}

const origins = new WeakMap<TenantScope, AuditOrigin>();

/** Binds the request to its scope, so that no override or verb can lose it. */
export function bindOrigin(scope: TenantScope, origin: AuditOrigin): void {
  origins.set(scope, origin);
}

/** The request of a scope; undefined if the scope was made in code. */
export function originOf(scope: TenantScope): AuditOrigin | undefined {
  return origins.get(scope);
}

/** Copies the request of a whole write to a scope made for a part of it. */
export function withOriginOf(whole: TenantScope, part: TenantScope): TenantScope {
  const origin = origins.get(whole);
  if (origin) origins.set(part, origin);
  return part;
}
