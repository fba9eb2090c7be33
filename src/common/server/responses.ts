import { pipeline, type Readable } from 'node:stream';
import { constants, createGzip, gzip, type ZlibOptions } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { prefersGzip, varyBy } from '../http/index.js';

/**
 * Headers of every response, by lower-case name: those of Helmet (https://helmetjs.github.io), and what the explorer's page
 * may load: scripts, styles, pictures and calls from this origin.
 */
export const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none';base-uri 'none';font-src 'self' https: data:;form-action 'self';frame-ancestors 'none';" +
    "img-src 'self' data:;object-src 'none';script-src 'self';script-src-attr 'none';" +
    "style-src 'self' 'unsafe-inline';connect-src 'self'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
};

/**
 * Adds a `Cache-Control` to every response that has none (RFC 9111, section 5.2.2). Any cache may store reads without a
 * token, and the client those with a token and an `ETag`; both must be revalidated. Others must not be stored.
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

/** Responses below this size would hardly become smaller. Unit: bytes. */
const MIN_BYTES = 1_024;
/** Maximum number of responses to compress at a time; others are sent as they are. Each takes up to 300 KiB. */
const MAX_AT_A_TIME = 32;

// A level that compresses about 100 MiB a second in little memory. Each part of a stream is sent as soon as it is ready.
const GZIP: ZlibOptions = { flush: constants.Z_SYNC_FLUSH, level: 3 };

/** Compresses the 200 responses of routes with {@link Compressed}, including streams. */
export function useCompression(fastify: FastifyInstance): void {
  let running = 0;
  const end = () => void (running -= 1);
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (!request.routeOptions.config.compressed) return done();
    varyBy(reply, 'Accept-Encoding');
    // An error in place of a response that was to be compressed.
    if (reply.statusCode >= 400) reply.removeHeader('Content-Encoding');
    const isPlain = reply.statusCode === 200 && !reply.hasHeader('Content-Encoding');
    if (!isPlain || running >= MAX_AT_A_TIME || !isGzipped(request, sizeOf(payload))) return done();
    announceGzip(reply);
    if (!isStream(payload)) {
      running += 1;
      return gzip(payload as string | Buffer, GZIP, (error, compressed) => {
        end();
        done(error as null, compressed);
      });
    }
    // The length of a stream is unknown, and nobody will read this one.
    if (request.method === 'HEAD') return done();
    running += 1;
    const compressor = createGzip(GZIP).once('close', end);
    // Each of them ends the other. Fastify handles the errors of the one that it sends.
    pipeline(payload, compressor, () => undefined);
    done(null, compressor);
  });
}

/** Whether the client gets a response of so many bytes compressed. */
export function isGzipped({ headers }: FastifyRequest, bytes: number): boolean {
  return bytes >= MIN_BYTES && prefersGzip(headers['accept-encoding']);
}

/** Size of a payload; that of a stream is unknown. Unit: bytes. */
function sizeOf(payload: unknown): number {
  if (isStream(payload)) return Infinity;
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
}

/** Sets the headers of the compressed response: no length or ranges, and a weak validator (RFC 9110, section 8.8.1). */
function announceGzip(reply: FastifyReply): void {
  reply.header('Content-Encoding', 'gzip').removeHeader('Content-Length').removeHeader('Accept-Ranges');
  const tag = reply.getHeader('ETag');
  if (typeof tag === 'string' && !tag.startsWith('W/')) reply.header('ETag', `W/${tag}`);
}

export function isStream(payload: unknown): payload is Readable {
  return typeof (payload as Partial<Readable> | null | undefined)?.pipe === 'function';
}
