import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import {
  brotliCompress,
  type BrotliOptions,
  type CompressCallback,
  constants,
  createBrotliCompress,
  createGzip,
  gzip,
  type ZlibOptions,
} from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import helmet from 'helmet';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { HttpResponse } from '../platform/index.js';

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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by {@link Compressed}. */
    compressed?: boolean;
  }
}

/** The content codings on offer. The first one wins if the client likes both equally. */
const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** Answers below this size would hardly become smaller. Unit: bytes. */
const MIN_BYTES = 1_024;
/** Maximum number of answers to compress at a time; others are sent as they are. Each takes up to 300 KiB. */
const MAX_AT_A_TIME = 32;

// Levels that compress about 100 MiB a second in little memory. Each part of a stream is sent as soon as it
// is ready.
const BROTLI: BrotliOptions = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 3,
    [constants.BROTLI_PARAM_LGWIN]: 18,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  },
};
const GZIP: ZlibOptions = { flush: constants.Z_SYNC_FLUSH, level: 3 };

/**
 * Declares whether the responses of a route may be compressed if the client accepts it. The generated lists
 * are; others are not. Do not compress responses that contain both a secret and something that a stranger can
 * make the client send: their length would reveal the secret (https://breachattack.com).
 */
export const Compressed = (compressed = true): MethodDecorator => RouteConfig({ compressed });

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
    const coding = isPlain ? codingOf(request, sizeOf(payload)) : undefined;
    if (coding === undefined || running >= MAX_AT_A_TIME) return done();
    announce(reply, coding);
    if (!isStream(payload)) {
      running += 1;
      return compress(payload as string | Buffer, coding, (error, compressed) => {
        end();
        done(error as null, compressed);
      });
    }
    // The length of a stream is unknown, and nobody will read this one.
    if (request.method === 'HEAD') return done();
    running += 1;
    const compressor = compressorOf(coding).once('close', end);
    // Each of them ends the other. Fastify handles the errors of the one that it sends.
    pipeline(payload, compressor, () => undefined);
    done(null, compressor);
  });
}

/** The coding for a response of so many bytes; undefined if the client gets it as it is. */
export function codingOf({ headers }: FastifyRequest, bytes: number): Coding | undefined {
  return bytes >= MIN_BYTES ? preferredCoding(headers['accept-encoding'], CODINGS) : undefined;
}

/** Size of a payload; that of a stream is unknown. Unit: bytes. */
function sizeOf(payload: unknown): number {
  if (isStream(payload)) return Infinity;
  return typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
}

/**
 * Sets the headers of the compressed response: no length or ranges, and a weak validator (RFC 9110, section
 * 8.8.1).
 */
function announce(reply: FastifyReply, coding: Coding): void {
  reply.header('Content-Encoding', coding).removeHeader('Content-Length').removeHeader('Accept-Ranges');
  const tag = reply.getHeader('ETag');
  if (typeof tag === 'string' && !tag.startsWith('W/')) reply.header('ETag', `W/${tag}`);
}

function compress(payload: string | Buffer, coding: Coding, done: CompressCallback): void {
  if (coding === 'br') brotliCompress(payload, BROTLI, done);
  else gzip(payload, GZIP, done);
}

function compressorOf(coding: Coding): Transform {
  return coding === 'br' ? createBrotliCompress(BROTLI) : createGzip(GZIP);
}

export function isStream(payload: unknown): payload is Readable {
  return typeof (payload as Partial<Readable> | null | undefined)?.pipe === 'function';
}

/** An accepted value and its quality (RFC 9110, section 12.4.2). */
interface Weighted {
  readonly name: string;
  readonly quality: number;
}

/** A quality value (RFC 9110, section 12.4.2). */
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * The media type on offer that the client prefers; the first one if several are equal, or if the client sends
 * no `Accept` or accepts none of them: RFC 9110 allows a server to ignore the header then.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...T[]],
): T {
  const ranges = readList(accept ?? '*/*');
  const [first, ...others] = offered;
  return others.reduce<T>(
    (best, type) => (qualityOfType(type, ranges) > qualityOfType(best, ranges) ? type : best),
    first,
  );
}

/**
 * The content coding on offer that the client prefers; the first one if several are equal. Undefined if the
 * client sends no `Accept-Encoding`, accepts none of them, or prefers the answer without coding (RFC 9110,
 * section 12.5.3).
 */
function preferredCoding<T extends string>(
  acceptEncoding: string | undefined,
  offered: readonly T[],
): T | undefined {
  const accepted = readList(acceptEncoding ?? '');
  let least = firstOf(accepted, ['identity'])?.quality ?? 0;
  let best: T | undefined;
  for (const coding of offered) {
    const quality = firstOf(accepted, [coding, '*'])?.quality ?? 0;
    if (quality === 0 || quality < least || (best !== undefined && quality === least)) continue;
    best = coding;
    least = quality;
  }
  return best;
}

/** The most specific range that matches a type decides, regardless of its position. */
function qualityOfType(type: string, ranges: readonly Weighted[]): number {
  return firstOf(ranges, [type, type.replace(/\/.*/, '/*'), '*/*'])?.quality ?? 0;
}

/** The first entry that has one of the names, in the order of the names. */
function firstOf(list: readonly Weighted[], names: readonly string[]): Weighted | undefined {
  const found = names.map((name) => list.find((entry) => entry.name === name));
  return found.find((entry) => entry !== undefined);
}

/** Maximum number of entries that are read; no client has that many. */
const MAX_ENTRIES = 64;

/** Reads a list, ignoring malformed entries, parameters other than the quality, and what exceeds the maximum. */
function readList(header: string): Weighted[] {
  // Quoted strings may contain commas and semicolons, and only occur in such parameters.
  const unquoted = header.replaceAll(/"(?:\\.|[^"\\])*"?/g, '');
  return unquoted.split(',', MAX_ENTRIES).flatMap((text) => {
    const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '') ?? '1';
    return QUALITY.test(quality) ? [{ name, quality: Number(quality) }] : [];
  });
}

/**
 * Adds a request header to those that the response depends on (RFC 9110, section 12.5.5), such as CORS's
 * `Origin`.
 */
export function varyBy(reply: HttpResponse, header: string): void {
  const named = [reply.getHeader('Vary') ?? []].flat().flatMap((names) => String(names).split(', '));
  if (!named.includes(header)) reply.header('Vary', [...named, header].join(', '));
}
