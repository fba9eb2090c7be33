import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/**
 * Adds a `Cache-Control` to every answer that has none (RFC 9111, section 5.2.2). Any cache may store reads
 * without a token. Reads with a token may be stored by their client only, and only with an `ETag`. Both must
 * be revalidated each time. Other answers must not be stored.
 */
export function useCacheControl(fastify: FastifyInstance): void {
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    if (!reply.hasHeader('Cache-Control')) reply.header('Cache-Control', directiveOf(request, reply));
    done();
  });
}

function directiveOf({ method, headers }: FastifyRequest, reply: FastifyReply): string {
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead || reply.statusCode >= 400) return 'no-store';
  if (headers.authorization === undefined) return 'no-cache';
  return reply.hasHeader('ETag') ? 'private, no-cache' : 'no-store';
}
