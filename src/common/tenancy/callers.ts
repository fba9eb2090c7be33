import { type ExecutionContext, Injectable } from '@nestjs/common';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';
import { type HttpRequest, rawOf } from '../platform/index.js';
import { carriedIsolationOf, type IsolationFields, isolationOf, needsToken } from './isolation-source.js';
import { ANONYMOUS, type TenantContext, TenantScope } from './tenant-scope.js';
import { TokenVerifier } from './token-verifier.js';

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
