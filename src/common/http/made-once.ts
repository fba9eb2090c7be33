import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PathNotFoundError } from '../errors/index.js';
import { type Coding, codingOf, compressOnce, isStream } from './compression.js';
import { varyBy } from './accept.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The response of the route is the same for everybody as long as the process lives: it is made for the first
     * request, and then sent from memory. For a route that ends with a wildcard: the files that exist.
     */
    madeOnce?: true | readonly string[];
  }
}

/** A response that was made once. Each of its codings has a strong ETag of its own. */
class MadeOnce {
  private readonly hash: string;
  private readonly compressed = new Map<Coding, Promise<Buffer>>();

  constructor(
    readonly body: Buffer,
    private readonly type: string,
  ) {
    this.hash = createHash('sha256').update(body).digest('base64url');
  }

  /** Sets the headers, and returns the bytes to send: none if the client has them already. */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<Buffer | string | null> {
    const coding = codingOf(request, this.body.length);
    varyBy(reply, 'Accept-Encoding');
    for (const name of ['Accept-Ranges', 'Content-Length', 'Last-Modified']) reply.removeHeader(name);
    reply.headers({ 'Content-Type': this.type, ETag: `"${this.hash}${coding ? `-${coding}` : ''}"` });
    if (request.headers['if-none-match']?.includes(`"${this.hash}`)) {
      reply.code(304).removeHeader('Content-Type');
      // Fastify reads the payload of a HEAD.
      return request.method === 'HEAD' ? '' : null;
    }
    if (coding === undefined) return this.body;
    reply.header('Content-Encoding', coding);
    const bytes = this.compressed.get(coding) ?? compressOnce(this.body, coding);
    this.compressed.set(coding, bytes);
    return bytes;
  }
}

/** Sends the responses of routes with `madeOnce` from memory. */
export function useMadeOnce(fastify: FastifyInstance): void {
  const made = new Map<string, MadeOnce>();
  fastify.addHook('preHandler', (request, reply, done) => {
    const key = keyOf(request);
    if (key === undefined) return done();
    // It is sent whole, and has an ETag in place of a time.
    delete request.headers.range;
    delete request.headers['if-modified-since'];
    const known = made.get(key);
    if (known) void reply.send(known.body);
    else done();
  });
  fastify.addHook('onSend', async (request, reply, payload) => {
    const key = reply.statusCode === 200 ? keyOf(request) : undefined;
    // The server of files reads none for a HEAD.
    if (key === undefined || (request.method === 'HEAD' && !made.has(key) && isStream(payload)))
      return payload;
    let known = made.get(key);
    if (!known) {
      const body = isStream(payload) ? await buffer(payload) : Buffer.from(payload as string | Buffer);
      made.set(key, (known = new MadeOnce(body, String(reply.getHeader('Content-Type')))));
    }
    return known.send(request, reply);
  });
}

/** @throws PathNotFoundError if the route has no such file */
function keyOf({ routeOptions: { url = '', config }, params }: FastifyRequest): string | undefined {
  if (config.madeOnce === undefined) return undefined;
  if (config.madeOnce === true) return url;
  const file = (params as { '*': string })['*'];
  if (!config.madeOnce.includes(file)) throw new PathNotFoundError();
  return url + file;
}
