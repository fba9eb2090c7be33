/** The caller, as far as the credentials tell. Plain data, made only by the `TenantGuard`. */
export interface TenantContext {
  /** Whether a token was verified. */
  readonly authenticated: boolean;
  /** The tenant that the token names: 24 hexadecimal digits in lower case. */
  readonly tenant?: string;
  /** The token's subject (`sub`, RFC 7519, section 4.1.2). */
  readonly subject?: string;
  /** Every claim of the verified token; empty for anonymous callers. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Name of the claim that contains the tenant, for messages. */
  readonly tenantClaim?: string;
}

/** The context of a caller who was not asked for credentials. */
export const ANONYMOUS: TenantContext = Object.freeze({ authenticated: false, claims: Object.freeze({}) });
