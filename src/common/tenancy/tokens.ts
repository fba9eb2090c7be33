import { Logger } from '@nestjs/common';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import { isObjectIdOrHexString } from 'mongoose';
import {
  AuthenticationUnavailableError,
  InsufficientScopeError,
  InvalidTokenError,
  OUTAGE,
  reasonOf,
  UnauthenticatedError,
} from '../errors/index.js';
import { type HttpRequest, rawOf } from '../request/index.js';
import type { TenantContext } from './tenant-scope.js';

/** How tokens are verified. Give either `secret` or `jwksUrl`. */
export interface TokenVerifierOptions {
  /** Shared secret of HS256 tokens, at least 32 bytes. */
  secret?: string;
  /** URL of the public keys of RS256, ES256 and EdDSA tokens. */
  jwksUrl?: URL;
  /** Required value of `iss`; if unset, any is accepted. */
  issuer?: string;
  /** Required value of `aud`; if unset, any is accepted. */
  audience?: string;
  /** Scope that a token must have; if unset, none is required. */
  scope?: string;
  /** Name of the claim that contains the tenant. @default "tenant" */
  tenantClaim?: string;
}

/** Allowed difference between the clocks of issuer and service. Unit: seconds. */
const CLOCK_TOLERANCE_S = 30;

/** Verifies JSON Web Tokens (RFC 7519) as RFC 8725 recommends: only the key source decides the algorithms. */
export class TokenVerifier {
  private readonly keyOf: JWTVerifyGetKey;
  private readonly required: JWTVerifyOptions;
  private readonly callers = new WeakMap<object, Promise<TenantContext>>();

  constructor(private readonly options: TokenVerifierOptions) {
    const { secret, jwksUrl, issuer, audience } = options;
    const key = new TextEncoder().encode(secret);
    this.keyOf = jwksUrl ? keySetAt(jwksUrl) : () => key;
    const algorithms = jwksUrl ? ['RS256', 'ES256', 'EdDSA'] : ['HS256'];
    const clockTolerance = CLOCK_TOLERANCE_S;
    this.required = { algorithms, requiredClaims: ['exp'], clockTolerance, issuer, audience };
    const logger = new Logger('TokenVerifier');
    // An issuer with a key URL usually has other applications, too.
    if (jwksUrl && !audience)
      logger.warn(
        'Neither JWT_AUDIENCE nor tokens.audience is set: tokens that were issued for other applications are accepted',
      );
    // Anyone who can change the keys on their way can sign tokens.
    if (jwksUrl?.protocol === 'http:')
      logger.warn(
        'The keys come from an http URL: keep the way to the key server out of the reach of others, or use https',
      );
  }

  /** The caller of a request. Sub-requests share the token of the request around them, which is verified once. */
  async callerOf(request: HttpRequest): Promise<TenantContext> {
    const raw = rawOf(request);
    const token = bearerTokenOf(request);
    const caller = this.callers.get(raw) ?? this.authenticate(token);
    this.callers.set(raw, caller);
    return caller;
  }

  /**
   * The caller that a token names; without a tenant unless the claim has 24 hexadecimal digits.
   *
   * @throws InvalidTokenError, InsufficientScopeError, or AuthenticationUnavailableError without the key set
   */
  private async authenticate(token: string): Promise<TenantContext> {
    const { payload, protectedHeader } = await jwtVerify(token, this.keyOf, this.required).catch(
      (error: unknown) => {
        if (error instanceof AuthenticationUnavailableError) throw error;
        throw new InvalidTokenError(error instanceof errors.JOSEError ? error.code : 'UNREADABLE');
      },
    );
    if (!isForAccess(protectedHeader, payload)) throw new InvalidTokenError('NOT_FOR_ACCESS');
    const { tenantClaim = 'tenant', scope } = this.options;
    if (scope !== undefined && !scopesOf(payload).includes(scope)) throw new InsufficientScopeError(scope);
    const tenant = Object.hasOwn(payload, tenantClaim) ? payload[tenantClaim] : undefined;
    return {
      authenticated: true,
      tenant: typeof tenant === 'string' && isObjectIdOrHexString(tenant) ? tenant.toLowerCase() : undefined,
      subject: typeof payload.sub === 'string' ? payload.sub : undefined,
      claims: payload,
      tenantClaim,
    };
  }
}

/** Types of access tokens: those of RFC 9068, section 2.1, and the generic one. */
const ACCESS_TYPES = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

/** Claims that only ID tokens have (OpenID Connect Core 1.0, section 3.3.2.11). */
const OF_ID_TOKENS = ['at_hash', 'c_hash'];

/** Whether a token is an access token, as far as it says (RFC 8725, section 3.11). */
function isForAccess({ typ }: { typ?: unknown }, payload: JWTPayload): boolean {
  if (typ !== undefined && !(typeof typ === 'string' && ACCESS_TYPES.has(typ.toLowerCase()))) return false;
  return !OF_ID_TOKENS.some((name) => Object.hasOwn(payload, name));
}

/** The granted scopes of a token: `scope` (RFC 9068, section 2.2.3), or some providers' `scp`, which may be a list. */
function scopesOf({ scope, scp }: JWTPayload): unknown[] {
  const given = scope ?? scp;
  if (Array.isArray(given)) return given;
  return typeof given === 'string' ? given.split(' ') : [];
}

/** The bearer token of a request (RFC 6750, section 2.1). @throws UnauthenticatedError, InvalidTokenError without one */
export function bearerTokenOf({ headers }: Pick<HttpRequest, 'headers'>): string {
  const header = headers.authorization;
  if (header === undefined || !/^bearer(\s|$)/i.test(header)) throw new UnauthenticatedError();
  const match = /^bearer +([\w\-.~+/]+=*)$/i.exec(header);
  if (!match?.[1]) throw new InvalidTokenError('MALFORMED');
  return match[1];
}

/** How long a fetch may take. Unit: milliseconds. */
const FETCH_MS = 3_000;
/** Maximum size of the response. Unit: bytes. */
const MAX_BYTES = 1_048_576;
/** Age at which the keys are fetched again, so that a withdrawn key is not accepted for longer. Unit: milliseconds. */
const FRESH_MS = 600_000;
/** How long the keys are used if they cannot be fetched again. Unit: milliseconds. */
const USABLE_MS = 86_400_000;
/** Minimum time before fetching again for an unknown key, or after a failure. Unit: milliseconds. */
const COOL_DOWN_MS = 1_000;

/** The keys of an issuer (RFC 7517, section 5), fetched when needed and kept while their server is down. */
function keySetAt(url: URL): JWTVerifyGetKey {
  const logger = new Logger('KeySet');
  const keys = createRemoteJWKSet(url, {
    timeoutDuration: FETCH_MS,
    cooldownDuration: COOL_DOWN_MS,
    cacheMaxAge: USABLE_MS,
    [customFetch]: boundedFetch,
  });
  let refreshAt = Date.now() + FRESH_MS;
  const warn = (error: unknown) =>
    logger.warn({ ...OUTAGE, reason: reasonOf(error) }, 'The key set cannot be fetched');
  return async (header, token) => {
    if (Date.now() >= refreshAt && keys.jwks()) {
      // Others do not wait: a server that hangs must not delay all of them.
      refreshAt = Date.now() + COOL_DOWN_MS;
      await keys.reload().then(() => (refreshAt = Date.now() + FRESH_MS), warn);
    }
    try {
      return await keys(header, token);
    } catch (error) {
      if (OF_TOKENS.some((type) => error instanceof type)) throw error;
      warn(error);
      throw new AuthenticationUnavailableError({ cause: error });
    }
  };
}

/** Whatever the key server sends, it does not fill the memory. */
async function boundedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  let bytes = 0;
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform: (part, body) => {
      bytes += part.length;
      if (bytes > MAX_BYTES) body.error(new Error(`The key set is larger than ${MAX_BYTES} bytes`));
      else body.enqueue(part);
    },
  });
  return new Response(response.body?.pipeThrough(bound), response);
}

/** Errors about the key that a token names, rather than the fetch of the keys. */
const OF_TOKENS = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];
