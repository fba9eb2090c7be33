import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import helmet from 'helmet';

/**
 * Headers of every response, by lower-case name: those of Helmet (https://helmetjs.github.io). No request
 * changes them.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = headersOf({
  contentSecurityPolicy: {
    directives: {
      defaultSrc: ["'none'"],
      baseUri: ["'none'"],
      // For the explorer's page: scripts and calls from this origin, inline styles.
      scriptSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      frameAncestors: ["'none'"],
      upgradeInsecureRequests: null,
    },
  },
});

/** Gives every response the {@link SECURITY_HEADERS}. */
export function useSecurityHeaders(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (_request, reply, done) => {
    reply.headers(SECURITY_HEADERS);
    done();
  });
}

/** The headers that Helmet sets, by the lower-case names that Fastify uses. */
function headersOf(options: Parameters<typeof helmet>[0]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => void (headers[name.toLowerCase()] = value),
    // Helmet removes Express's header with its name.
    removeHeader: () => undefined,
  };
  helmet(options)({} as IncomingMessage, response as unknown as ServerResponse, (error) => {
    if (error) throw error as Error;
  });
  return headers;
}

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
