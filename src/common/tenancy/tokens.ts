import { Logger } from '@nestjs/common';
import {
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
  type JWTVerifyResult,
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
import type { HttpRequest } from '../request/index.js';
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
  /** Names of the settings, for the log. @default the options of `CrudModule.forRoot` */
  names?: Readonly<Record<'jwksUrl' | 'audience', string>>;
}

const OPTION_NAMES = { jwksUrl: 'tokens.jwksUrl', audience: 'tokens.audience' };

/** Allowed difference between the clocks of issuer and service. Unit: seconds. */
const CLOCK_TOLERANCE_S = 30;

/** Anyone who can change the keys on their way can sign tokens. */
const plainKeys = (setting: string) =>
  `${setting} is an http URL: keep the way to the key server out of the reach of others, or use https`;

/** An issuer with a key URL usually has other applications, too. */
const anyAudience = (setting: string) =>
  `${setting} is not set: tokens that were issued for other applications are accepted`;

/** Verifies JSON Web Tokens (RFC 7519) as RFC 8725 recommends: only the key source decides the algorithms. */
export class TokenVerifier {
  private readonly verify: (token: string) => Promise<JWTVerifyResult>;

  constructor(private readonly options: TokenVerifierOptions) {
    const shared: JWTVerifyOptions = {
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE_S,
      issuer: options.issuer,
      audience: options.audience,
    };
    if (options.jwksUrl) {
      const logger = new Logger('TokenVerifier');
      const { names = OPTION_NAMES } = options;
      if (!options.audience) logger.warn(anyAudience(names.audience));
      if (options.jwksUrl.protocol === 'http:') logger.warn(plainKeys(names.jwksUrl));
      const keys = new KeySet(options.jwksUrl);
      const algorithms = ['RS256', 'ES256', 'EdDSA'];
      this.verify = (token) => jwtVerify(token, keys.find, { ...shared, algorithms });
    } else {
      const key = new TextEncoder().encode(options.secret);
      this.verify = (token) => jwtVerify(token, key, { ...shared, algorithms: ['HS256'] });
    }
  }

  /**
   * The caller that a token names; without a tenant unless the claim has 24 hexadecimal digits.
   *
   * @throws InvalidTokenError if the token is not valid, or is signed with a key that is too weak
   * @throws InsufficientScopeError if it lacks the required scope
   * @throws AuthenticationUnavailableError if the key set cannot be fetched
   */
  async authenticate(token: string): Promise<TenantContext> {
    const { payload, protectedHeader } = await this.verify(token).catch((error: unknown) => {
      if (error instanceof AuthenticationUnavailableError) throw error;
      throw new InvalidTokenError(error instanceof errors.JOSEError ? error.code : 'UNREADABLE');
    });
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

/**
 * The bearer token of a request (RFC 6750, section 2.1), as sent.
 *
 * @throws UnauthenticatedError if there is none, InvalidTokenError if it is not a token
 */
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

type LocalKeySet = ReturnType<typeof createLocalJWKSet>;

/** The keys of an issuer (RFC 7517, section 5), fetched when needed and kept while their server is down. */
class KeySet {
  private readonly logger = new Logger('KeySet');
  private keys?: { find: LocalKeySet; fetchedAt: number };
  private fetching?: Promise<void>;
  private triedAt = -Infinity;
  private failure?: unknown;

  constructor(private readonly url: URL) {}

  /**
   * The key that a token is signed with.
   *
   * @throws AuthenticationUnavailableError if it is unknown and the keys cannot be fetched
   * @throws JOSEError if there is no such key
   */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput) => {
    const keys = (await this.fresh()).find;
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The issuer may have changed to another key.
      await this.refresh();
      if (this.failure) throw new AuthenticationUnavailableError({ cause: this.failure });
      if (!this.keys || this.keys.find === keys) throw error;
      return this.keys.find(header, token);
    }
  };

  private async fresh(): Promise<{ find: LocalKeySet }> {
    const age = () => Date.now() - (this.keys?.fetchedAt ?? -Infinity);
    if (age() > FRESH_MS) {
      const refreshed = this.refresh();
      // After a failure, requests do not wait: a server that hangs must not delay all of them.
      if (!this.failure || age() > USABLE_MS) await refreshed;
    }
    if (this.keys && age() <= USABLE_MS) return this.keys;
    throw new AuthenticationUnavailableError({ cause: this.failure });
  }

  /** Fetches the keys, unless they were fetched just now. Concurrent requests share one fetch. Never rejects. */
  private refresh(): Promise<void> {
    const now = Date.now();
    if (this.fetching) return this.fetching;
    if (this.keys && now - this.triedAt < COOL_DOWN_MS) return Promise.resolve();
    this.triedAt = now;
    this.fetching = fetchKeys(this.url)
      .then(
        (find) => {
          this.keys = { find, fetchedAt: now };
          this.failure = undefined;
        },
        (error: unknown) => {
          this.failure = error;
          this.logger.warn({ ...OUTAGE, reason: reasonOf(error) }, 'The key set cannot be fetched');
        },
      )
      .finally(() => (this.fetching = undefined));
    return this.fetching;
  }
}

/** @throws Error if the server does not return a key set in time */
async function fetchKeys(url: URL): Promise<LocalKeySet> {
  const response = await fetch(url, {
    headers: { Accept: 'application/jwk-set+json, application/json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(FETCH_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The key set was answered with ${response.status}`);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new Error(`The key set is larger than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  return createLocalJWKSet(JSON.parse(Buffer.concat(parts).toString()) as JSONWebKeySet);
}
