import type { FastifyRequest } from 'fastify';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';

/**
 * The bearer token of a request (RFC 6750, section 2.1), as sent.
 *
 * @throws UnauthenticatedError if there is none, InvalidTokenError if it is not a token
 */
export function bearerTokenOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const header = headers.authorization;
  if (header === undefined || !/^bearer(\s|$)/i.test(header)) throw new UnauthenticatedError();
  const match = /^bearer +([\w\-.~+/]+=*)$/i.exec(header);
  if (!match?.[1]) throw new InvalidTokenError('MALFORMED');
  return match[1];
}
