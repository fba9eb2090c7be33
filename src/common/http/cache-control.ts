import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/**
 * Says of every answer who may keep it (RFC 9111, section 5.2.2), unless it says so itself. What a token has shown stays with
 * its client, which may ask again with its `ETag`; what anyone may read can be kept by caches, too, if they ask each time.
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
