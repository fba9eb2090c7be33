import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify, type JWTVerifyOptions } from 'jose';
import { AuthenticationUnavailableError, InvalidTokenError } from '../errors/index.js';
import { isObjectId } from '../ids/index.js';
import type { TenantContext } from './tenant-context.js';

/** How tokens are verified; one of `secret` and `jwksUrl` is given. */
export interface TokenVerifierOptions {
  /** Shared secret of HS256 tokens, at least 32 bytes. */
  secret?: string;
  /** Where the public keys of RS256, ES256 and EdDSA tokens are fetched. */
  jwksUrl?: URL;
  /** Required value of `iss`; unset accepts any. */
  issuer?: string;
  /** Required value of `aud`; unset accepts any. */
  audience?: string;
  /** Name of the claim that carries the tenant. */
  tenantClaim: string;
}

/** Difference between the clocks of issuer and service that is forgiven. Unit: seconds. */
const CLOCK_TOLERANCE_S = 30;
/** How long a fetch of the key set may take. Unit: milliseconds. */
const JWKS_TIMEOUT_MS = 3_000;

/** Verifies JSON Web Tokens (RFC 7519) by the advice of RFC 8725: the key source alone decides the algorithms. */
export class TokenVerifier {
  private readonly verify: (token: string) => Promise<{ payload: JWTPayload }>;

  constructor(private readonly options: TokenVerifierOptions) {
    const shared: JWTVerifyOptions = {
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE_S,
      issuer: options.issuer,
      audience: options.audience,
    };
    if (options.jwksUrl) {
      const keys = createRemoteJWKSet(options.jwksUrl, { timeoutDuration: JWKS_TIMEOUT_MS });
      const algorithms = ['RS256', 'ES256', 'EdDSA'];
      this.verify = (token) => jwtVerify(token, keys, { ...shared, algorithms });
    } else {
      const key = new TextEncoder().encode(options.secret);
      this.verify = (token) => jwtVerify(token, key, { ...shared, algorithms: ['HS256'] });
    }
  }

  /**
   * The caller whom a token names; without a tenant if it carries none of 24 hexadecimal digits.
   *
   * @throws InvalidTokenError where the token does not verify
   * @throws AuthenticationUnavailableError where the key set cannot be fetched
   */
  async authenticate(token: string): Promise<TenantContext> {
    const { payload } = await this.verify(token).catch((error: unknown) => {
      if (isKeySetFailure(error)) throw new AuthenticationUnavailableError({ cause: error });
      throw new InvalidTokenError();
    });
    const { tenantClaim } = this.options;
    const tenant = Object.hasOwn(payload, tenantClaim) ? payload[tenantClaim] : undefined;
    return {
      authenticated: true,
      tenant: isObjectId(tenant) ? tenant.toLowerCase() : undefined,
      subject: typeof payload.sub === 'string' ? payload.sub : undefined,
      claims: payload,
      tenantClaim,
    };
  }
}

/** Whether the key set, and not the token, is at fault. */
function isKeySetFailure(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true;
  const generic = error.code === 'ERR_JOSE_GENERIC';
  return generic || error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid;
}
