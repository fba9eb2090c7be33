import { Injectable } from '@nestjs/common';
import { type HttpRequest, rawOf } from '../platform/index.js';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';
import type { TenantContext } from './tenant-context.js';
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
