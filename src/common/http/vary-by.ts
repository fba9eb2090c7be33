import type { FastifyReply } from 'fastify';

/**
 * Adds a request header to those that the response depends on (RFC 9110, section 12.5.5), such as CORS's
 * `Origin`.
 */
export function varyBy(reply: FastifyReply, header: string): void {
  const named = [reply.getHeader('Vary') ?? []].flat().flatMap((names) => String(names).split(', '));
  if (!named.includes(header)) reply.header('Vary', [...named, header].join(', '));
}
