import { type JWTPayload, jwtVerify, type JWTVerifyOptions } from 'jose';
import { AuthenticationUnavailableError, InvalidTokenError } from '../errors/index.js';
import { isObjectId } from '../ids/index.js';
import { KeySet } from './key-set.js';
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
      const keys = new KeySet(options.jwksUrl);
      const algorithms = ['RS256', 'ES256', 'EdDSA'];
      this.verify = (token) => jwtVerify(token, keys.find, { ...shared, algorithms });
    } else {
      const key = new TextEncoder().encode(options.secret);
      this.verify = (token) => jwtVerify(token, key, { ...shared, algorithms: ['HS256'] });
    }
  }

  /**
   * The caller whom a token names; without a tenant if it carries none of 24 hexadecimal digits.
   *
   * @throws InvalidTokenError if the token does not verify, or with a key that is too weak
   * @throws AuthenticationUnavailableError if the key set cannot be fetched
   */
  async authenticate(token: string): Promise<TenantContext> {
    const { payload } = await this.verify(token).catch((error: unknown) => {
      if (error instanceof AuthenticationUnavailableError) throw error;
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
