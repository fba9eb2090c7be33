import { type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { errors, type JWTPayload, jwtVerify, type JWTVerifyOptions, type JWTVerifyResult } from 'jose';
import {
  InvalidTokenError,
  UnauthenticatedError,
  AuthenticationUnavailableError,
  InsufficientScopeError,
} from '../errors/index.js';
import { type HttpRequest, rawOf } from '../platform/index.js';
import { isObjectId } from '../ids/index.js';
import { carriedIsolationOf, type IsolationFields, isolationOf, needsToken } from './isolation-source.js';
import { ANONYMOUS, type TenantContext, TenantScope } from './tenant-scope.js';
import { KeySet } from './key-set.js';

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
      tenant: isObjectId(tenant) ? tenant.toLowerCase() : undefined,
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

/**
 * The granted scopes of a token: `scope` (RFC 9068, section 2.2.3), or some providers' `scp`, which may be a
 * list.
 */
function scopesOf({ scope, scp }: JWTPayload): unknown[] {
  const given = scope ?? scp;
  if (Array.isArray(given)) return given;
  return typeof given === 'string' ? given.split(' ') : [];
}

/** The senders of requests, identified by their bearer tokens (RFC 6750). */
@Injectable()
export class Callers {
  private readonly callers = new WeakMap<object, Promise<TenantContext>>();

  constructor(private readonly verifier: TokenVerifier) {}

  /**
   * The caller of a request. Carried requests share the token of their carrier, which is verified once.
   *
   * @throws UnauthenticatedError, InvalidTokenError without a valid token
   */
  async of(request: HttpRequest): Promise<TenantContext> {
    const raw = rawOf(request);
    const token = bearerTokenOf(request);
    const caller = this.callers.get(raw) ?? this.verifier.authenticate(token);
    this.callers.set(raw, caller);
    return caller;
  }
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
